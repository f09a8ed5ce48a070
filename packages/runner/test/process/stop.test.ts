import { describe, expect, test } from 'vitest'
import { type AgentProcess, spawnAgent } from '../../src/process/agent-process.ts'
import { ProcessFamily, type ProcessLister } from '../../src/process/stop/process-family.ts'
import { StopLadder, type StopStep } from '../../src/process/stop/stop.ts'
import { findAllMarked, findByMarker } from '../../src/process/system/leftovers.ts'
import { listProcesses } from '../../src/process/system/process-table.ts'
import { collect, isRunning, jsonValues, program, readyPid, untilGone } from '../support/programs.ts'
import { useProject } from '../support/project.ts'

const project = useProject()

/** For what ends at the first signal: long enough that only the signal can be the reason. */
const PATIENT_MS = 600_000
/** For what ignores a signal: the outcome does not depend on it. */
const SHORT_MS = 20

const names = (steps: StopStep[]) => steps.map(step => step.name)

async function start(name: string, ...args: string[]): Promise<AgentProcess> {
  return spawnAgent({ ...(await program(project.root, name, ...args)), keepInputOpen: true })
}

describe('the leader', () => {
  test('is interrupted first, and what it prints then is read', async () => {
    const agent = await start('graceful')
    await readyPid(agent)
    const report = await agent.stop({ interruptGraceMs: PATIENT_MS })
    expect(report).toEqual({
      steps: [{ name: 'interrupt', signal: 'SIGINT', pids: [agent.pid] }],
      stopped: [agent.pid],
      leftRunning: [],
      isSure: expect.any(Boolean),
    })
    expect(jsonValues(await collect(agent))).toEqual([{ result: 'interrupted' }])
    expect(await agent.exited).toMatchObject({ code: 0, stopped: true })
  })

  test('that ignores the interrupt is terminated', async () => {
    const agent = await start('stubborn', 'SIGINT')
    await readyPid(agent)
    const { steps } = await agent.stop({ interruptGraceMs: SHORT_MS, termGraceMs: PATIENT_MS })
    expect(names(steps)).toEqual(['interrupt', 'terminate'])
    await collect(agent)
    expect(await agent.exited).toMatchObject({ code: null, signal: 'SIGTERM' })
  })

  test('a leader that ignores SIGINT and SIGTERM is killed', async () => {
    const agent = await start('stubborn', 'SIGINT', 'SIGTERM')
    await readyPid(agent)
    const report = await agent.stop({
      interruptGraceMs: SHORT_MS,
      termGraceMs: SHORT_MS,
      killGraceMs: PATIENT_MS,
    })
    expect(names(report.steps)).toEqual(['interrupt', 'terminate', 'kill'])
    expect(report).toMatchObject({ stopped: [agent.pid], leftRunning: [] })
    await collect(agent)
    expect(await agent.exited).toMatchObject({ signal: 'SIGKILL' })
  })

  test('is not interrupted, or not terminated, when that grace is 0', async () => {
    const gentle = await start('graceful')
    await readyPid(gentle)
    const { steps } = await gentle.stop({ interruptGraceMs: 0, termGraceMs: PATIENT_MS })
    expect(names(steps)).toEqual(['terminate'])
    await gentle.close()

    const hard = await start('graceful')
    await readyPid(hard)
    expect(names((await hard.stop({ interruptGraceMs: 0, termGraceMs: 0 })).steps)).toEqual(['kill'])
    await hard.close()
  })

  test('that has exited by itself needs no step', async () => {
    const agent = await start('echo-lines')
    agent.endInput()
    await collect(agent)
    expect(await agent.stop()).toMatchObject({ steps: [], stopped: [], leftRunning: [] })
    expect(await agent.exited).toMatchObject({ stopped: false })
  })

  test('that is suspended is killed all the same', async () => {
    const agent = await start('stubborn')
    await readyPid(agent)
    agent.signal('SIGSTOP')
    const { steps } = await agent.stop({
      interruptGraceMs: SHORT_MS,
      termGraceMs: SHORT_MS,
      killGraceMs: PATIENT_MS,
    })
    expect(names(steps)).toContain('kill')
    expect(await isRunning(agent.pid)).toBe(false)
    await agent.close()
  })
})

describe('several calls', () => {
  test('share one ladder, and each gets the steps', async () => {
    const agent = await start('graceful')
    await readyPid(agent)
    const seen: string[] = []
    const reports = await Promise.all([
      agent.stop({ interruptGraceMs: PATIENT_MS, onStep: step => seen.push(`a ${step.name}`) }),
      agent.stop({ interruptGraceMs: PATIENT_MS, onStep: step => seen.push(`b ${step.name}`) }),
    ])
    expect(seen).toEqual(['a interrupt', 'b interrupt'])
    expect(reports[0]).toBe(reports[1])
    await agent.close()
  })

  test('a stricter one moves the ladder on at once, step by step', async () => {
    const agent = await start('stubborn', 'SIGINT', 'SIGTERM')
    await readyPid(agent)
    const patient = { interruptGraceMs: PATIENT_MS, termGraceMs: PATIENT_MS, killGraceMs: PATIENT_MS }
    const report = await agent.stop({
      ...patient,
      onStep: ({ name }) => {
        if (name === 'interrupt') agent.stop({ ...patient, interruptGraceMs: 0 })
        if (name === 'terminate') agent.stop({ ...patient, termGraceMs: 0 })
      },
    })
    expect(names(report.steps)).toEqual(['interrupt', 'terminate', 'kill'])
    await agent.close()
  })

  test('a listener that throws does not break it', async () => {
    const agent = await start('stubborn', 'SIGINT')
    await readyPid(agent)
    const onStep = () => {
      throw new Error('bug')
    }
    const report = await agent.stop({ interruptGraceMs: SHORT_MS, termGraceMs: PATIENT_MS, onStep })
    expect(names(report.steps)).toEqual(['interrupt', 'terminate'])
    await agent.close()
  })

  test('a laxer one does not slow it down', async () => {
    const agent = await start('stubborn', 'SIGINT')
    await readyPid(agent)
    const strict = agent.stop({ interruptGraceMs: SHORT_MS, termGraceMs: PATIENT_MS })
    agent.stop({ interruptGraceMs: PATIENT_MS, termGraceMs: PATIENT_MS })
    expect(names((await strict).steps)).toEqual(['interrupt', 'terminate'])
    await agent.close()
  })
})

const SHAPES = [
  'plain',
  'ignores-term',
  'own-session',
  'own-session-ignores-term',
  'double-fork',
  'no-environment',
]

describe('what the agent started', () => {
  test.each([...SHAPES, 'no-environment-own-session'])('%s is stopped with it', async shape => {
    const agent = await start('leader', shape)
    const member = await readyPid(agent)
    expect(await isRunning(member)).toBe(true)
    const report = await agent.stop({
      interruptGraceMs: PATIENT_MS,
      termGraceMs: SHORT_MS,
      killGraceMs: PATIENT_MS,
    })
    expect(report.leftRunning).toEqual([])
    expect(report.stopped).toContain(member)
    expect(await isRunning(member)).toBe(false)
    expect(await findByMarker(agent.marker)).toEqual([])
    await agent.close()
  })

  test.each(SHAPES)('%s is stopped when the agent ended by itself', async shape => {
    const agent = await start('leader', shape)
    const member = await readyPid(agent)
    agent.endInput()
    await collect(agent)
    expect(await agent.exited).toMatchObject({ code: 0, stopped: false })
    expect(await isRunning(member)).toBe(true)
    const report = await agent.stop({ termGraceMs: SHORT_MS, killGraceMs: PATIENT_MS })
    expect(report.leftRunning).toEqual([])
    // The process between the two forks may not have exited yet.
    expect(report.stopped).toContain(member)
    expect(await isRunning(member)).toBe(false)
  })

  test('gets SIGTERM before SIGKILL, inside the group and outside', async () => {
    const steps = async (shape: string) => {
      const agent = await start('leader', shape)
      await readyPid(agent)
      agent.endInput()
      await collect(agent)
      return names((await agent.stop({ termGraceMs: SHORT_MS, killGraceMs: PATIENT_MS })).steps)
    }
    expect(await steps('ignores-term')).toEqual(['terminate', 'kill'])
    expect(await steps('own-session-ignores-term')).toEqual(['sweep-terminate', 'sweep-kill'])
  })

  test('a process of another run is not stopped', async () => {
    const one = await start('leader', 'own-session')
    const other = await start('leader', 'own-session')
    const [, otherMember] = [await readyPid(one), await readyPid(other)]
    await one.stop()
    expect(await isRunning(otherMember)).toBe(true)
    expect(await isRunning(other.pid)).toBe(true)
    await other.stop()
    expect(await isRunning(otherMember)).toBe(false)
    await Promise.all([one.close(), other.close()])
  })
})

describe('processes that cannot be listed', () => {
  const fails = () => Promise.reject(new Error('ps: no such option'))

  test.each<{ what: string; lister: ProcessLister; shapes: string[] }>([
    { what: 'markers', lister: { list: listProcesses, findMarked: fails }, shapes: ['plain', 'own-session'] },
    { what: 'tables', lister: { list: fails, findMarked: findAllMarked }, shapes: ['plain'] },
    { what: 'both', lister: { list: fails, findMarked: fails }, shapes: ['plain', 'ignores-term'] },
  ])('for want of $what: the agent is ended with what can be reached', async ({ lister, shapes }) => {
    for (const shape of shapes) {
      const agent = await start('leader', shape)
      const member = await readyPid(agent)
      let hasExited = false
      const exited = agent.exited.then(() => {
        hasExited = true
      })
      const { pid, marker } = agent
      const target = { pid, marker, exited, hasExited: () => hasExited, leftGroupBehind: () => true }
      const ladder = new StopLadder(target, new ProcessFamily(target, lister))
      const report = await ladder.stop({
        interruptGraceMs: PATIENT_MS,
        termGraceMs: SHORT_MS,
        killGraceMs: PATIENT_MS,
      })
      expect(report.leftRunning).toEqual([])
      await untilGone(member)
      await agent.close()
    }
  })
})
