import { readdirSync } from 'node:fs'
import path from 'node:path'
import type { ConformanceReport } from '@chirality/conformance'
import { codexBinary } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import { findMarked } from './support/processes.ts'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

// The behaviours themselves are tested in packages/conformance. Here: the command around them.

test('the installed Codex works in every way, and the result is kept', async () => {
  const { run, home, model } = await createWorld()
  const data = path.join(home, 'data')
  const env = { CHIRALITY_HOME: data }
  const { code, stdout } = await run(['conformance', 'codex', '--json', '--limit', '600'], { env })
  const [report, ...more] = jsonLines<ConformanceReport>(stdout)
  expect(more).toEqual([])
  expect(report).toMatchObject({ harness: 'codex', version: codexBinary().version })
  const worked = report?.findings.filter(({ outcome }) => outcome === 'supported') ?? []
  const other = report?.findings.filter(({ outcome }) => outcome !== 'supported') ?? []
  expect(other).toMatchObject([{ behaviour: 'exit', outcome: 'not-offered', evidence: expect.any(String) }])
  expect(worked).toHaveLength(15)
  expect(code).toBe(0)
  // The trial has a model of its own: the user's was not asked.
  expect(model.requests).toEqual([])
  expect(readdirSync(path.join(data, 'conformance'))).toEqual([`codex@${codexBinary().version}.json`])
})

test('what is asked wrongly is told with what to do', async () => {
  const { run } = await createWorld()
  const asked: [string[], RegExp][] = [
    [['codx'], /There is no agent "codx"\. Did you mean codex\?/],
    [['acp-opencode'], /Its program is not found/],
    [['codex', 'claude-code'], /Name one agent, or none for all/],
    [['codex', '--', 'agent'], /an agent or a command, not both/],
    [['--'], /Name the command after "--"/],
    [['--', '/no/such/agent'], /There is no program \/no\/such\/agent/],
    [['--program', 'x'], /needs the agent whose program it is/],
    [['codex', '--limit', '0'], /--limit must be a whole number/],
  ]
  for (const [args, words] of asked) {
    const { code, stdout, stderr } = await run(['conformance', ...args])
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' })
    expect(stderr).toMatch(words)
  }
})

test('a program that is no agent is named, in the table and as JSON', async () => {
  const { run } = await createWorld()
  const command = ['--', process.execPath, '-e', 'console.log("I am no agent.")']
  const table = await run(['conformance', ...command])
  expect(table.code).toBe(1)
  expect(table.stdout).toMatch(
    /^node: does not answer\. I am no agent\. \(node .*\)\nNothing else was tried\.\n$/,
  )
  const { code, stdout } = await run(['conformance', '--json', ...command])
  expect(code).toBe(1)
  expect(jsonLines<ConformanceReport>(stdout)).toMatchObject([{ harness: 'acp-node', name: 'node' }])
  // The program of a known agent that is not installed can be named.
  const named = await run(['conformance', 'acp-opencode', '--program', process.execPath])
  expect(named.stdout).toMatch(/^OpenCode: does not answer\./)
})

test('Ctrl-C ends the trial with everything that it started', async () => {
  const { start, env } = await createWorld()
  const command = start(['conformance', '--', process.execPath, '-e', 'setInterval(() => {}, 1000)'])
  // The agent itself, beside the command.
  while (command.isRunning && findMarked(env.CHIRALITY_RUN ?? '').length < 2)
    await new Promise(resolve => setTimeout(resolve, 20))
  command.signal('SIGINT')
  const { code, stderr } = await command.result()
  expect({ code, stderr }).toEqual({ code: 130, stderr: expect.stringContaining('is ended and removed') })
})
