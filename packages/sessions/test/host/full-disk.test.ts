import { setTimeout as pause } from 'node:timers/promises'
import type { SessionHarness } from '@chirality/core'
import { claudeBinary } from '@chirality/fixtures'
import { findByMarker } from '@chirality/runner'
import { AgentSdkHarness } from '@chirality/runner/agent-sdk'
import type { ScriptedModel } from '@chirality/scripted-model'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SessionHost } from '../../src/host/session-host.ts'
import type { HostProgramOptions } from '../programs/host-program.ts'
import { bundleHostProgram, HostProgram } from '../support/host-program.ts'
import { eventsOf, untilEvent, useHostWorld } from '../support/host-world.ts'
import { mountSmallDisk } from '../support/small-disk.ts'

const world = useHostWorld()
let program: Awaited<ReturnType<typeof bundleHostProgram>>
beforeAll(async () => {
  program = await bundleHostProgram()
})
afterAll(() => program.remove())

interface Agent {
  harness(model: ScriptedModel): SessionHarness
  program(model: ScriptedModel): Omit<HostProgramOptions, 'project' | 'data' | 'sessionId'>
}

const claudeProgram = (model: ScriptedModel) => ({
  binary: claudeBinary(),
  environment: world.environment(model),
  keepAlive: true,
})
const AGENTS: Record<string, Agent> = {
  'claude-code': { harness: model => world.claude(model, { keepAlive: true }), program: claudeProgram },
  codex: {
    harness: model => world.codex(model),
    program: model => {
      const { binaryPath: binary, environment, ...codex } = world.codexConfig(model)
      return { binary, environment, keepAlive: true, codex }
    },
  },
  'agent-sdk': {
    harness: model =>
      new AgentSdkHarness({ binaryPath: claudeBinary(), environment: world.environment(model) }),
    program: model => ({ ...claudeProgram(model), sdk: true }),
  },
}

const TEXT = 'All that was lost. '.repeat(200)
/** It waits in the middle of its answer. */
const newModel = () =>
  world.model({ answers: [{ text: TEXT, chunkChars: 40, stallAfter: 10 }], otherwise: 'Here I am.' })

test.each(Object.entries(AGENTS))(
  '%s: a disk that is full while it prints ends the turn with the reason, and the next turn works',
  async (name, agent) => {
    const disk = mountSmallDisk(world)
    const model = await newModel()
    const host = world.host([agent.harness(model)])
    const session = await host.session((await host.createSession(world.project, { harness: name })).id)
    await session.start('Go')
    await untilEvent(session, ({ type }) => type === 'chat:delta')
    await model.waitForRequest(({ state }) => state === 'stalled')
    await disk.fill()
    model.release()
    // It is stopped while the disk is full, so nothing is waited for that cannot be said.
    while ((await findByMarker(world.marker)).length > 0) await pause(20)
    await disk.free()
    await session.settled()
    expectToldLoss(eventsOf(session))
    expect(session.status).toMatchObject({ phase: 'idle', lastTurn: 'crashed', logHealth: 'ok' })
    await nextTurnWorks(host, session.id)
  },
)

test.each(Object.entries(AGENTS))(
  '%s: a disk that was full while no host ran, after a kill: the next host ends the turn with the reason',
  async (name, agent) => {
    const disk = mountSmallDisk(world)
    const model = await newModel()
    const first = world.host([])
    const { id } = await first.createSession(world.project, { harness: name })
    await first.close()
    const options = { project: world.project, data: world.data, sessionId: id, message: 'Go' }
    const killed = new HostProgram(program.file, { ...options, ...agent.program(model) })
    await killed.until(line => 'sent' in line)
    await model.waitForRequest(({ state }) => state === 'stalled')
    await killed.kill()
    await disk.fill()
    model.release()
    // Without its host it has no input any more: it ends when it has said what it can.
    while ((await findByMarker(world.marker)).length > 0) await pause(20)
    await disk.free()

    const host = world.host([agent.harness(model)])
    expect(await host.openProject(world.project)).toMatchObject({ adopted: [id], problems: [] })
    const session = await host.session(id)
    await session.settled()
    const events = eventsOf(session)
    expect(events.filter(({ type }) => type === 'turn:end')).toMatchObject([{ reason: 'crashed' }])
    expect(events.filter(({ type }) => type === 'session:error')).toMatchObject([
      { error: expect.stringMatching(/without a result|Codex ended with it/) },
    ])
    await nextTurnWorks(host, id)
  },
)

function expectToldLoss(events: ReturnType<typeof eventsOf>): void {
  const ends = events.filter(({ type }) => type === 'turn:end' || type === 'session:error')
  expect(ends).toMatchObject([
    { type: 'session:error', error: expect.stringMatching(/is missing\. Make room/) },
    { type: 'turn:end', reason: 'crashed' },
  ])
}

async function nextTurnWorks(host: SessionHost, sessionId: string): Promise<void> {
  const session = await host.session(sessionId)
  await session.start('And now?')
  await session.settled()
  expect(session.status).toMatchObject({ lastTurn: 'completed', lastLine: 'Here I am.' })
}
