import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  acpHarnesses,
  addConfiguredAgent,
  agentsFile,
  readConfiguredAgents,
  removeConfiguredAgent,
} from './configured-agents.ts'

let folder = ''
beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-agents-')))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const agent = { name: 'mine', command: 'my-agent', args: ['--acp'], env: ['MY_KEY'] }

test('an agent is added once, listed as a harness of its own, and removed', async () => {
  await addConfiguredAgent(folder, agent)
  await expect(addConfiguredAgent(folder, agent)).rejects.toThrow('There is an agent mine already')
  expect(await readConfiguredAgents(folder)).toEqual({ agents: [agent], problems: [] })
  const harnesses = await acpHarnesses({ dataFolder: folder, environment: { PATH: folder, HOME: folder } })
  expect(harnesses.map(({ meta }) => meta)).toContainEqual(
    expect.objectContaining({ id: 'acp-mine', environment: { names: ['MY_KEY'] } }),
  )
  expect(await removeConfiguredAgent(folder, 'mine')).toBe(true)
  expect(await removeConfiguredAgent(folder, 'mine')).toBe(false)
})

test('a known agent is offered when its program is on PATH', async () => {
  writeFileSync(path.join(folder, 'codex-acp'), '#!/bin/sh\n', { mode: 0o755 })
  const harnesses = await acpHarnesses({ dataFolder: folder, environment: { PATH: folder, HOME: folder } })
  expect(harnesses.map(({ meta }) => meta.id)).toContain('acp-openai-codex')
})

test.each([
  [{ ...agent, name: 'Not A Name' }, 'is no name of an agent'],
  [{ ...agent, name: '' }, 'is no name of an agent'],
  [{ ...agent, name: 'x'.repeat(37) }, 'is no name of an agent'],
  [{ ...agent, name: '../up' }, 'is no name of an agent'],
  [{ ...agent, command: ' ' }, 'has no command'],
  [{ ...agent, args: ['a\0b'] }, 'args has to be'],
  [{ ...agent, env: ['KEY=value'] }, 'env has to be a list of names'],
])('what cannot be used is refused: %j', async (bad, words) => {
  await expect(addConfiguredAgent(folder, bad)).rejects.toThrow(words)
  expect((await readConfiguredAgents(folder)).agents).toEqual([])
})

test.each([
  ['{', 'is no JSON'],
  ['[]', 'has no list'],
  ['{"agents":[{"name":"x"}]}', 'has no command'],
  [JSON.stringify({ agents: [agent, agent] }), 'mine is there twice'],
])('a damaged file is told, keeps no other agent away, and is not overwritten: %s', async (text, words) => {
  writeFileSync(agentsFile(folder), text)
  expect((await readConfiguredAgents(folder)).problems).toEqual([expect.stringContaining(words)])
  await expect(addConfiguredAgent(folder, { ...agent, name: 'other' })).rejects.toThrow('Correct it first')
})
