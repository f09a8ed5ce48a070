import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ClaudeCodeHarness, MARKER_VARIABLE } from '@chirality/runner'
import { expect, test } from 'vitest'
import { typesOf, useHostWorld } from '../support/host-world.ts'
import { answers, ScriptedHarness } from '../support/scripted-harness.ts'

const world = useHostWorld()
const AGENT = fileURLToPath(new URL('../programs/fast-agent.mjs', import.meta.url))
const FLOOD_BYTES = 20 * 1024 * 1024

test.each([
  ['stdout', 1, '.ndjson'],
  ['stderr', 2, '.stderr'],
] as const)(
  'an agent prints 20 MB of junk lines on %s: another session goes on meanwhile, and the logs stay small',
  async (_name, fd, spool) => {
    const environment = { PATH: PROGRAMS, HOME: world.root, [MARKER_VARIABLE]: world.marker }
    const flooder = new ClaudeCodeHarness({
      binaryPath: floodingAgent(fd),
      environment,
      keepAlive: false,
      onLog: entry => host.log(entry),
    })
    const host = world.host([flooder, new ScriptedHarness(Array(MAX_TURNS).fill(answers('Yes.')))])
    const flood = await host.session((await host.createSession(world.project, { harness: 'claude-code' })).id)
    const other = await host.session((await host.createSession(world.project, { harness: 'scripted' })).id)
    await flood.start('Go')
    let isOver = false
    const over = flood.settled().then(() => {
      isOver = true
    })
    while (sizeOf('logs/claude-code', spool) < FLOOD_BYTES / 20) await pause(1)

    let turns = 0
    for (; !isOver && turns < MAX_TURNS; turns += 1) {
      await other.start('Go on')
      await other.settled()
    }
    await over
    // The last of them may have ended after the flood did.
    expect(turns).toBeGreaterThan(1)
    expect(flood.status.lastTurn).toBe('completed')
    expect(sizeOf('logs/claude-code', spool)).toBeGreaterThanOrEqual(FLOOD_BYTES)
    expect(typesOf(flood).length).toBeLessThan(1000)
    expect(sizeOf('events', `${flood.id}.ndjson`)).toBeLessThan(FLOOD_BYTES / 20)
    expect(sizeOf('logs', 'harness.log')).toBeLessThan(FLOOD_BYTES / 10)
  },
)

const PROGRAMS = '/usr/local/bin:/usr/bin:/bin'
const MAX_TURNS = 1000

/** Answers when it has printed its junk. */
function floodingAgent(fd: number): string {
  const file = join(world.root, 'agent')
  const flood = `yes 'not json at all' | head -c ${FLOOD_BYTES} >&${fd}`
  const source = `#!/bin/sh\ncase "$*" in *stream-json*) ${flood} ;; esac\nexec '${process.execPath}' '${AGENT}' 3 "$@"\n`
  writeFileSync(file, source)
  chmodSync(file, 0o755)
  return file
}

/** Of the files there whose name ends so. */
function sizeOf(folder: string, end: string): number {
  const names = readdirSync(world.file(folder)).filter(name => name.endsWith(end))
  return names.reduce((sum, name) => sum + statSync(world.file(folder, name)).size, 0)
}
