import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessQuery, Session, TurnProcess, UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { emitted } from '../../src/turn/emitted.ts'
import { adoptedAttempts, processTurn, startedAttempts } from '../../src/turn/process-turn.ts'
import type { TurnProgram } from '../../src/turn/turn-program.ts'
import { isRunning, TEST_ENV } from '../support/programs.ts'
import { useProject } from '../support/project.ts'
import { collect, expectOneEnd, statuses } from '../support/turns.ts'

// What an adopted turn is, whatever the agent: one that prints numbers until a file is there.

const project = useProject()

test('an event emitted between two lines is emitted between them again', async () => {
  const { turn, trace, session, turnId } = start({ stallMs: 1 })
  const told = await until(turn, ({ type }) => type === 'status')
  finish()
  const source = adoptedAttempts(trace())
  const adopted = processTurn({ program: program(), session, turnId, source })
  const events = await collect(eventsOf(adopted))
  expect(events.slice(0, told.length)).toEqual(told)
  expect(statuses(events, 'stalled').length).toBeGreaterThanOrEqual(1)
  expect(expectOneEnd(events)).toEqual({ reason: 'crashed' })
  expect(numbers(events)).toEqual([1, 2])
  await turn.return(undefined)
})

test('a second one may adopt what the first has adopted', async () => {
  const { turn, trace, session, turnId } = start({})
  const told = await until(turn, ({ type }) => type === 'native:unknown')
  const adopt = () => processTurn({ program: program(), session, turnId, source: adoptedAttempts(trace()) })
  const first = eventsOf(adopt())
  expect(await until(first, ({ type }) => type === 'native:unknown')).toEqual(told)
  finish()
  const events = await collect(eventsOf(adopt()))
  expect(events.slice(0, told.length)).toEqual(told)
  expect(numbers(events)).toEqual([1, 2])
  await first.return(undefined)
  await turn.return(undefined)
})

test('a signal that has fired already stops it at once', async () => {
  const { turn, trace, session, turnId } = start({})
  await until(turn, ({ type }) => type === 'native:unknown')
  const source = adoptedAttempts(trace(), AbortSignal.abort())
  const events = await collect(eventsOf(processTurn({ program: program(), session, turnId, source })))
  expect(expectOneEnd(events)).toEqual({ reason: 'interrupted' })
  expect(await isRunning(trace().processes[0]?.pid ?? 0)).toBe(false)
  await turn.return(undefined)
})

test('child processes are stopped with a process whose output cannot be read', async () => {
  const { turn, trace, session, turnId } = start({})
  await until(turn, ({ type }) => type === 'native:unknown')
  const [process] = trace().processes
  if (!process) throw new Error('it was not traced')
  const lost = {
    ...process,
    pid: 2 ** 22,
    startTime: '',
    marker: 'no-such-marker',
    spoolPath: `${process.spoolPath}.x`,
  }
  const source = adoptedAttempts({ ...trace(), processes: [lost, process] })
  const events = await collect(eventsOf(processTurn({ program: program(), session, turnId, source })))
  expect(expectOneEnd(events)).toEqual({ reason: 'crashed' })
  expect(await isRunning(process.pid)).toBe(false)
  await turn.return(undefined)
})

function start(opts: { stallMs?: number }) {
  const processes: TurnProcess[] = []
  const turnId = randomUUID()
  const session = newSession()
  const source = startedAttempts(query(), program())
  const onProcess = (process: TurnProcess) => void processes.push(process)
  const turn = processTurn({ program: program(), session, turnId, source, opts: { ...opts, onProcess } })
  const trace = () => ({ turnId, startedAt: '', message: 'Count', processes })
  return { turn: eventsOf(turn), trace, session, turnId }
}

async function* eventsOf(turn: Pick<ReturnType<typeof processTurn>, 'run'>): AsyncGenerator<UIEvent> {
  for await (const batch of emitted<UIEvent[]>(emit => turn.run(emit))) yield* batch
}

/** Leaves the turn where it is, as one whose program does nothing any more. */
async function until(turn: AsyncGenerator<UIEvent>, fits: (event: UIEvent) => boolean): Promise<UIEvent[]> {
  const events: UIEvent[] = []
  while (!events.some(fits)) {
    const { value, done } = await turn.next()
    if (done) throw new Error('the turn ended')
    events.push(value)
  }
  return events
}

function finish(): void {
  writeFileSync(path.join(project.root, 'go'), '')
}

function numbers(events: UIEvent[]): unknown[] {
  return events.flatMap(event => (event.type === 'native:unknown' ? [(event.raw as { n: number }).n] : []))
}

function program(): TurnProgram {
  return {
    harnessId: 'test',
    name: 'Test',
    config: {},
    prepare: async () => ({
      command: '/bin/sh',
      args: ['-c', `echo '{"n":1}'; while [ ! -e go ]; do sleep 0.01; done; echo '{"n":2}'`],
      env: TEST_ENV,
      cwd: project.root,
      stdin: '',
      promptText: 'Count',
      attachments: 0,
      cleanup: async () => {},
    }),
    reader: ({ sessionId }) => ({
      read: record =>
        record.kind === 'json'
          ? [{ type: 'native:unknown', sessionId, harness: 'test', nativeType: 'n', raw: record.value }]
          : [],
      end: () => [],
      outcome: null,
      answered: false,
      rested: false,
      close: () => {},
    }),
  }
}

function query(): HarnessQuery {
  return {
    prompt: 'Count',
    cwd: project.root,
    mode: 'read-only',
    signal: new AbortController().signal,
  }
}

function newSession(): Session {
  const at = '2026-01-01T00:00:00.000Z'
  return {
    id: randomUUID(),
    createdAt: at,
    updatedAt: at,
    projectRoot: project.root,
    persona: null,
    mode: 'direct',
    claudeSessionId: null,
  }
}
