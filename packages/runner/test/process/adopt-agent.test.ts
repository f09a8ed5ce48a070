import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { TurnProcess } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { adoptAgent } from '../../src/process/adopt-agent.ts'
import { type AgentProcess, spawnAgent } from '../../src/process/agent-process.ts'
import { readProcess } from '../../src/process/system/process-table.ts'
import { stopByMarker, stopTraced, traceProcess } from '../../src/process/traced-process.ts'
import { collect, isRunning, jsonValues, nextValue, program, readyPid } from '../support/programs.ts'
import { useProject } from '../support/project.ts'

const project = useProject()

/** For what ends at the first signal: long enough that only the signal can be the reason. */
const PATIENT = { interruptGraceMs: 600_000, termGraceMs: 600_000, killGraceMs: 600_000 }

describe('an agent that someone else started', () => {
  test('is read from its beginning, and then as it goes on, until it ends', async () => {
    const { agent, trace } = await start('echo-lines')
    await agent.write('{"n":1}\n')
    expect(await nextValue(agent)).toEqual({ n: 1 })
    const adopted = await adopt(trace)
    expect(await nextValue(adopted)).toEqual({ n: 1 })
    await agent.write('{"n":2}\n{"n":3}\n')
    expect(await nextValue(adopted)).toEqual({ n: 2 })
    agent.endInput()
    expect(jsonValues(await collect(adopted))).toEqual([{ n: 3 }])
    expect(await adopted.exited).toMatchObject({ code: null, signal: null, stopped: false })
    await agent.close()
  })

  test('is read from where the turn began', async () => {
    const { agent, trace } = await start('echo-lines')
    await agent.write('{"n":1}\n{"n":2}\n')
    await nextValue(agent)
    await nextValue(agent)
    agent.endInput()
    await agent.exited
    const adopted = await adopt({ ...trace, spoolOffset: '{"n":1}\n'.length })
    expect(await collect(adopted)).toEqual([
      { kind: 'record', record: { kind: 'json', value: { n: 2 }, bytes: 7, offset: 8 } },
    ])
    await agent.close()
  })

  test('refuses input', async () => {
    const { agent, trace } = await start('echo-lines')
    const adopted = await adopt(trace)
    expect(await adopted.write('{}\n')).toBe(false)
    agent.endInput()
    expect(jsonValues(await collect(adopted))).toEqual([])
    await agent.close()
  })

  test('is interrupted first, and what it prints then is read', async () => {
    const { agent, trace } = await start('graceful')
    await readyPid(agent)
    const adopted = await adopt(trace)
    const report = await adopted.stop(PATIENT)
    expect(report.steps).toEqual([{ name: 'interrupt', signal: 'SIGINT', pids: [trace.pid] }])
    expect(jsonValues(await collect(adopted)).at(-1)).toEqual({ result: 'interrupted' })
    expect(await adopted.exited).toMatchObject({ stopped: true })
    await agent.close()
  })

  test.each(['plain', 'own-session', 'double-fork', 'no-environment'])(
    'is stopped with what it started (%s)',
    async shape => {
      const { agent, trace } = await start('leader', shape)
      const member = await readyPid(agent)
      const adopted = await adopt(trace)
      const { leftRunning } = await adopted.stop({ ...PATIENT, interruptGraceMs: 0 })
      expect(leftRunning).toEqual([])
      expect(await isRunning(member)).toBe(false)
      expect(await isRunning(trace.pid)).toBe(false)
      await adopted.close()
      await agent.close()
    },
  )

  test('has ended when its pid belongs to another: that one is left alone', async () => {
    const { agent, trace } = await start('graceful')
    await readyPid(agent)
    const adopted = await adopt({ ...trace, startTime: '1', marker: 'another-marker' })
    expect(jsonValues(await collect(adopted))).toEqual([{ ready: trace.pid }])
    expect(adopted.signal('SIGKILL')).toBe(false)
    expect(await adopted.stop()).toMatchObject({ steps: [], stopped: [], leftRunning: [] })
    expect(await stopTraced({ ...trace, startTime: '1', marker: 'another-marker' })).toMatchObject({
      stopped: [],
    })
    expect(await isRunning(trace.pid)).toBe(true)
    await agent.stop(PATIENT)
    await agent.close()
  })
})

describe('what a dead Chirality left running', () => {
  test('is found by its marker, the agent and what it started', async () => {
    const { agent, trace } = await start('leader', 'double-fork')
    const member = await readyPid(agent)
    const { stopped, leftRunning } = await stopByMarker(trace.marker, PATIENT)
    expect(stopped.sort()).toEqual([trace.pid, member].sort())
    expect(leftRunning).toEqual([])
    await agent.close()
  })

  test('is no one, for a marker that nobody carries', async () => {
    expect(await stopByMarker('no-such-marker')).toMatchObject({ steps: [], stopped: [], leftRunning: [] })
  })
})

describe('a spool', () => {
  test.each<[string, string, string, (spool: string) => void]>([
    ['gone', 'lost', 'is gone', spool => rmSync(spool)],
    ['shorter than it was', 'lost', 'was cut', spool => truncateSync(spool, 0)],
    [
      'a link',
      'unsafe',
      'symbolic link',
      spool => {
        renameSync(spool, `${spool}.away`)
        symlinkSync(`${spool}.away`, spool)
      },
    ],
    [
      'a folder',
      'unsafe',
      'is not a file',
      spool => {
        rmSync(spool)
        mkdirSync(spool)
      },
    ],
  ])('that is %s is refused, and the agent not touched', async (_what, code, said, damage) => {
    const { agent, trace } = await start('graceful')
    await readyPid(agent)
    damage(trace.spoolPath)
    await expect(adopt({ ...trace, spoolOffset: 1 })).rejects.toMatchObject({
      name: 'SpoolError',
      code,
      message: expect.stringContaining(said),
    })
    expect(await isRunning(trace.pid)).toBe(true)
    await agent.stop(PATIENT)
    await agent.close().catch(() => {})
  })

  test.each(['outside.ndjson', '.chirality/logs/other/x.ndjson', '.chirality/logs/test/../x.ndjson'])(
    'that lies at %s is refused',
    async place => {
      const spoolPath = `${project.root}/${place}`
      mkdirSync(path.join(project.root, '.chirality', 'logs', 'other'), { recursive: true })
      writeFileSync(path.resolve(spoolPath), '{}\n')
      const identity = { pid: 2 ** 22, startTime: '', marker: 'no-such-marker', spoolOffset: 0 }
      const trace = { ...identity, spoolPath, stderrPath: `${spoolPath}.stderr` }
      await expect(adopt(trace)).rejects.toMatchObject({ code: 'unsafe' })
    },
  )
})

test('a trace names the process as the system does', async () => {
  const { agent, trace } = await start('graceful')
  await readyPid(agent)
  const { pid, marker, spoolPath, stderrPath } = agent
  const startTime = (await readProcess(pid))?.startedAt
  expect(trace).toEqual({ pid, startTime, marker, spoolPath, stderrPath, spoolOffset: 0 })
  await agent.stop(PATIENT)
  await agent.close()
})

async function start(name: string, ...args: string[]): Promise<{ agent: AgentProcess; trace: TurnProcess }> {
  const agent = await spawnAgent({ ...(await program(project.root, name, ...args)), keepInputOpen: true })
  return { agent, trace: await traceProcess(agent) }
}

function adopt(trace: TurnProcess): Promise<AgentProcess> {
  return adoptAgent({ process: trace, projectRoot: project.root, harness: 'test' })
}
