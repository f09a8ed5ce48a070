import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { claudeBinary } from '@chirality/fixtures'
import { findByMarker, isEnclosing } from '@chirality/runner'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { HostProgramOptions } from '../programs/host-program.ts'
import { bundleHostProgram, HostProgram } from '../support/host-program.ts'
import { useHostWorld } from '../support/host-world.ts'
import { ScriptedHarness } from '../support/scripted-harness.ts'

const world = useHostWorld()
let program: Awaited<ReturnType<typeof bundleHostProgram>>
beforeAll(async () => {
  program = await bundleHostProgram()
})
afterAll(() => program.remove())

test('the host is killed after a turn: what the kept Claude Code left in the background is ended by the next host', async () => {
  const [started, hidden] = [`${world.project}/started`, `${world.project}/hidden`]
  const command = [
    `setsid sh -c 'touch ${started}; sleep 600' > /dev/null 2>&1 &`,
    `env -i /usr/bin/setsid -f /bin/sh -c 'echo $$ > ${hidden}; exec sleep 600' > /dev/null 2>&1`,
  ].join('\n')
  const model = await world.model({
    answers: [{ tool: 'Bash', input: { command, description: 'x' } }, 'Started it.'],
  })
  const first = world.host([world.claude(model)])
  const { id } = await first.createSession(world.project, { harness: 'claude-code' })
  await first.close()
  const options: HostProgramOptions = {
    project: world.project,
    data: world.data,
    sessionId: id,
    binary: claudeBinary(),
    environment: world.environment(model),
    keepAlive: true,
    message: 'Go',
    allow: ['Bash'],
  }
  const killed = new HostProgram(program.file, options)
  await killed.until(line => line.settled === true)
  while (!existsSync(started) || !existsSync(hidden) || readFileSync(hidden, 'utf8') === '') await pause(5)
  const daemon = Number(readFileSync(hidden, 'utf8'))
  try {
    await killed.kill()
    expect((await findByMarker(world.marker)).length).toBeGreaterThan(0)
    const report = await world.host([world.claude(model)]).openProject(world.project)
    expect(report.stopped).toBeGreaterThan(0)
    expect(await findByMarker(world.marker)).toEqual([])
    expect(isAlive(daemon)).toBe(!isEnclosing())
    expect(readdirSync(world.file('state', 'agents'))).toEqual([])
  } finally {
    if (isAlive(daemon)) process.kill(daemon, 'SIGKILL')
  }
})

test.each(['claude-code', 'codex'])(
  'the host is killed before the first turn: what a %s that was started ahead has started is ended by the next host',
  async harness => {
    const model = await world.model({ otherwise: 'Yes.' })
    const { binaryPath, environment, ...codex } = world.codexConfig(model)
    const isCodex = harness === 'codex'
    const helper = `${world.root}/helper`
    // As a hook or an MCP server of the agent might.
    const agent = withHelper(isCodex ? binaryPath : claudeBinary(), helper)
    const first = world.host([])
    const { id } = await first.createSession(world.project, { harness })
    await first.close()
    const killed = new HostProgram(program.file, {
      project: world.project,
      data: world.data,
      sessionId: id,
      binary: agent,
      keepAlive: true,
      prewarm: true,
      ...(isCodex ? { environment, codex } : { environment: world.environment(model) }),
    })
    await killed.until(line => line.prewarmed === true)
    while (!existsSync(helper) || readFileSync(helper, 'utf8') === '') await pause(5)
    await killed.kill()
    const pid = Number(readFileSync(helper, 'utf8'))
    expect(isAlive(pid)).toBe(true)
    const report = await world.host([world.claude(model)]).openProject(world.project)
    expect(report.stopped).toBeGreaterThan(0)
    expect(isAlive(pid)).toBe(false)
    expect(await findByMarker(world.marker)).toEqual([])
  },
)

test.each(['turns', 'agents'])(
  'a record of %s that came with a checkout and names a process of the user ends nothing',
  async kind => {
    const host = world.host([new ScriptedHarness([])])
    const { id } = await host.createSession(world.project, { harness: 'scripted' })
    await host.close()
    const stranger = spawn('/bin/sleep', ['600'], { stdio: 'ignore' })
    try {
      const spoolPath = world.file('logs', 'scripted', 'spool.ndjson')
      const marker = '5f0c6f3e-0000-4000-8000-000000000000'
      const process = {
        pid: stranger.pid,
        startTime: startOf(stranger),
        marker,
        spoolPath,
        stderrPath: spoolPath,
      }
      const turn = { turnId: 't', startedAt: '2026-01-01T00:00:00.000Z', message: 'x', harness: 'scripted' }
      mkdirSync(world.file('state', kind), { recursive: true })
      const record = { ...turn, processes: [{ ...process, spoolOffset: 0 }] }
      writeFileSync(join(world.file('state', kind), `${id}.json`), JSON.stringify(record))
      const report = await world.host([new ScriptedHarness([])]).openProject(world.project)
      expect(report.stopped).toBe(0)
      expect(stranger.signalCode).toBeNull()
      expect(isAlive(stranger.pid ?? 0)).toBe(true)
    } finally {
      stranger.kill('SIGKILL')
    }
  },
)

/** The agent, which starts a program of its own when it is to stay. */
function withHelper(agent: string, pidFile: string): string {
  const file = join(world.root, 'agent-with-helper')
  const helper = `setsid sh -c 'echo $$ > ${pidFile}; exec sleep 600' > /dev/null 2>&1 &`
  const source = [
    '#!/bin/sh',
    `case "$*" in *stream-json*|*app-server*) ${helper}`,
    ';; esac',
    `exec '${agent}' "$@"`,
  ]
  writeFileSync(file, source.join('\n'))
  chmodSync(file, 0o755)
  return file
}

function isAlive(pid: number): boolean {
  try {
    return /^State:\s+[^ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** Field 22 of proc(5). */
function startOf({ pid }: ChildProcess): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}
