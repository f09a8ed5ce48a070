import { existsSync, readFileSync } from 'node:fs'
import type { HarnessEvent, NdjsonRecord } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import type { AgentProcess, AgentProcessOptions } from '../../src/process/agent-process.ts'
import { SpawnError } from '../../src/process/program/spawn-error.ts'
import { type SpawnJsonlOptions, spawnJsonl } from '../../src/process/spawn-jsonl.ts'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { openFiles } from '../support/open-files.ts'
import { isRunning, program, script } from '../support/programs.ts'
import { useProject } from '../support/project.ts'

const project = useProject()

type Event = HarnessEvent<NdjsonRecord>

function run(
  options: AgentProcessOptions,
  more: Partial<SpawnJsonlOptions<NdjsonRecord>> = {},
): AsyncGenerator<Event> {
  return spawnJsonl<NdjsonRecord>({
    ...options,
    signal: new AbortController().signal,
    parseRecord: record => [{ type: 'message', message: record }],
    ...more,
  })
}

async function all(events: AsyncGenerator<Event>): Promise<Event[]> {
  const collected: Event[] = []
  for await (const event of events) collected.push(event)
  return collected
}

describe('events', () => {
  test('are what parseRecord makes of each line, none, one or several', async () => {
    const options = await script(project.root, 'for (const n of [0, 1, 2]) console.log(n)')
    const events = await all(
      run(options, {
        parseRecord: record => {
          const count = record.kind === 'json' ? Number(record.value) : 0
          return Array.from({ length: count }, () => ({ type: 'session_started', sessionId: String(count) }))
        },
      }),
    )
    expect(events.map(event => event.type === 'session_started' && event.sessionId)).toEqual(['1', '2', '2'])
  })

  test('malformed lines are offered, not thrown', async () => {
    const events = await all(run(await script(project.root, 'console.log("{oops"); console.log("{}")')))
    expect(events).toMatchObject([
      { type: 'message', message: { kind: 'malformed', text: '{oops' } },
      { type: 'message', message: { kind: 'json', value: {} } },
    ])
  })

  test('empty stdout gives no event', async () => {
    expect(await all(run(await script(project.root, '')))).toEqual([])
  })

  test('stderr comes live, line by line', async () => {
    const options = await script(
      project.root,
      'console.error("one"); console.error("two"); process.stdin.on("end", () => process.exit(0)).resume()',
    )
    let agent: AgentProcess | undefined
    const events: Event[] = []
    const running = run({ ...options, keepInputOpen: true }, { onSpawn: spawned => (agent = spawned) })
    for await (const event of running) {
      events.push(event)
      // The program ends only when this arrives, so both lines came while it ran.
      if (events.length === 2) agent?.endInput()
    }
    expect(events).toEqual([
      { type: 'stderr', data: 'one' },
      { type: 'stderr', data: 'two' },
    ])
  })

  test('a non-zero exit is what onExit makes of it, with stderr, after all output', async () => {
    const options = await script(project.root, 'console.log("{}"); console.error("no luck"); process.exit(7)')
    const events = await all(
      run(options, {
        onExit: ({ code }, stderr) => [
          { type: 'error', error: `${code}: ${stderr}`, code: 'process_crashed' },
        ],
      }),
    )
    expect(events.at(-1)).toEqual({ type: 'error', error: '7: no luck\n', code: 'process_crashed' })
    expect(events).toHaveLength(3)
  })

  test('onExit gets the end of a stderr flood', async () => {
    const options = await program(project.root, 'many-lines', '20000', 'stderr')
    let kept = ''
    await all(
      run(options, {
        onExit: (_exit, stderr) => {
          kept = stderr
          return []
        },
      }),
    )
    expect(kept.length).toBeLessThanOrEqual(64 * 1024)
    expect(kept).toContain('more lines, see the stderr log')
    expect(kept.endsWith('{"n":19998}\n{"n":19999}\n')).toBe(true)
  })

  test('the raw log stays, an empty stderr log does not', async () => {
    const options = await script(project.root, 'console.log("{}")')
    await all(run(options))
    expect(readFileSync(options.spool.path, 'utf8')).toBe('{}\n')
    expect(existsSync(options.spool.stderrPath)).toBe(false)
  })

  test('a program that cannot start is a SpawnError', async () => {
    const options = await script(project.root, '')
    await expect(all(run({ ...options, command: '/nowhere/agent' }))).rejects.toBeInstanceOf(SpawnError)
  })
})

describe('abort', () => {
  test('stops the agent, yields what it still says, and returns', async () => {
    const controller = new AbortController()
    const events: Event[] = []
    const running = run(await program(project.root, 'graceful'), {
      signal: controller.signal,
      onExit: ({ stopped }) => [{ type: 'error', error: `stopped: ${stopped}` }],
    })
    for await (const event of running) {
      events.push(event)
      controller.abort()
    }
    expect(events).toMatchObject([
      { message: { value: { ready: expect.any(Number) } } },
      { message: { value: { result: 'interrupted' } } },
      { type: 'error', error: 'stopped: true' },
    ])
    expect(await openFiles(project.root)).toEqual([])
  })

  test('before the start starts nothing', async () => {
    const options = await script(project.root, 'console.log("{}")')
    let spawned = false
    const events = run(options, { signal: AbortSignal.abort(), onSpawn: () => (spawned = true) })
    expect(await all(events)).toEqual([])
    expect(spawned).toBe(false)
    expect(existsSync(options.spool.path)).toBe(false)
  })

  test('during the start is not lost', async () => {
    const controller = new AbortController()
    const events = run(await program(project.root, 'stubborn'), {
      signal: controller.signal,
      stop: { interruptGraceMs: 0 },
    })
    const done = all(events)
    controller.abort()
    await done
    expect(await openFiles(project.root)).toEqual([])
  })

  test('reaches an agent whose output nobody takes', async () => {
    const controller = new AbortController()
    let agent: AgentProcess | undefined
    const events = run(await program(project.root, 'stubborn'), {
      signal: controller.signal,
      onSpawn: spawned => (agent = spawned),
    })
    await events.next()
    controller.abort()
    expect(await agent?.exited).toMatchObject({ signal: 'SIGINT' })
    await events.return(undefined)
  })
})

describe('nothing is left', () => {
  test('when the consumer leaves early', async () => {
    let agent: AgentProcess | undefined
    const options = await program(project.root, 'leader', 'own-session')
    const events = run(
      { ...options, keepInputOpen: true },
      {
        onSpawn: spawned => (agent = spawned),
      },
    )
    for await (const event of events) if (event.type === 'message') break
    expect(await agent?.exited).toMatchObject({ stopped: true })
    expect(await findByMarker(agent?.marker ?? '')).toEqual([])
    expect(await openFiles(project.root)).toEqual([])
  })

  test('when parseRecord has a bug', async () => {
    let agent: AgentProcess | undefined
    const events = run(await program(project.root, 'stubborn'), {
      onSpawn: spawned => (agent = spawned),
      parseRecord: () => {
        throw new TypeError('bug')
      },
    })
    await expect(all(events)).rejects.toThrow('bug')
    expect(await isRunning(agent?.pid ?? 0)).toBe(false)
    expect(await openFiles(project.root)).toEqual([])
  })

  test('when the agent ended and left a daemon', async () => {
    let agent: AgentProcess | undefined
    let daemon = 0
    const options = { ...(await program(project.root, 'leader', 'double-fork')), keepInputOpen: true }
    for await (const event of run(options, { onSpawn: spawned => (agent = spawned) })) {
      if (event.type !== 'message' || event.message.kind !== 'json') continue
      daemon = (event.message.value as { ready: number }).ready
      agent?.endInput()
    }
    expect(await agent?.exited).toMatchObject({ code: 0 })
    expect(daemon).toBeGreaterThan(0)
    expect(await isRunning(daemon)).toBe(false)
  })
})
