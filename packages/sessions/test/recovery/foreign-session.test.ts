import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { useHostWorld } from '../support/host-world.ts'
import { answers, ScriptedHarness } from '../support/scripted-harness.ts'

const world = useHostWorld()

/** A turn that was at work, says its record, and a message behind it that waits for nothing but its end. */
async function leaveAtWork(): Promise<string> {
  const host = world.host([])
  const { id } = await host.createSession(world.project, { harness: 'scripted' })
  await host.close()
  const at = '2026-01-01T00:00:00.000Z'
  const spoolPath = world.file('logs', 'scripted', 'spool.ndjson')
  const trace = { pid: 2 ** 22 - 1, startTime: '1', marker: 'nobody-has-this', stderrPath: spoolPath }
  write('turns', id, {
    ...{ turnId: 'turn-1', startedAt: at, message: 'One', harness: 'scripted', afterSeq: 0, budget: {} },
    processes: [{ ...trace, spoolPath, spoolOffset: 0 }],
  })
  const queued = { id: 'message-2', message: 'Two', queuedAt: at, request: {} }
  write('queue', id, { held: false, sending: null, messages: [queued] })
  return id
}

function write(kind: string, id: string, value: unknown): void {
  const folder = world.file('state', kind)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${id}.json`), JSON.stringify(value))
}

function adopting(): ScriptedHarness {
  return new ScriptedHarness([answers('Two.')], {
    async *adoptTurn({ id: sessionId }, { message }): AsyncGenerator<UIEvent> {
      yield { type: 'turn:start', sessionId, message }
      yield { type: 'turn:end', sessionId, reason: 'completed' }
    },
  })
}

test('a turn of our own is found again, and what waits behind it is sent', async () => {
  const id = await leaveAtWork()
  const harness = adopting()
  const host = world.host([harness])
  expect(await host.openProject(world.project)).toMatchObject({ adopted: [id] })
  await (await host.session(id)).settled()
  expect(harness.turns.map(({ message }) => message)).toEqual(['Two'])
})

test('files that came with a project run nothing: no turn is found again, and what waits needs a person', async () => {
  const id = await leaveAtWork()
  // The user of this data folder has never had the session.
  rmSync(world.data, { recursive: true, force: true })
  const harness = adopting()
  const host = world.host([harness])
  expect(await host.openProject(world.project)).toMatchObject({ adopted: [], problems: [] })
  const session = await host.session(id)
  await session.settled()
  expect(session.status).toMatchObject({ phase: 'idle', queueHeld: true, queue: [{ message: 'Two' }] })
  expect(harness.turns).toEqual([])
})
