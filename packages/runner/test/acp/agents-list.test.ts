import { type ChildProcess, spawn } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { sharedBundle } from '@chirality/fixtures/bundle-program'
import { expect, onTestFinished, test } from 'vitest'
import { addConfiguredAgent, agentsFile, readConfiguredAgents } from '../../src/acp/configured-agents.ts'

const PROGRAM = await sharedBundle(path.join(import.meta.dirname, '../programs/add-agent.ts'))
const NAMES = ['one', 'two', 'three', 'four']

test('four processes that add an agent at the same moment: all four are kept, and the file is whole', async () => {
  const folder = newFolder()
  const adders = NAMES.map(startAdder)
  await Promise.all(adders.map(({ answer }) => answer()))
  for (let round = 0; round < 10; round += 1) {
    const home = path.join(folder, `round-${round}`)
    mkdirSync(home)
    const seen: string[] = []
    const watching = new AbortController()
    const watched = watchFile(agentsFile(home), seen, watching.signal)
    for (const { child } of adders) child.stdin?.write(`${home}\n`)
    expect(await Promise.all(adders.map(({ answer }) => answer()))).toEqual(NAMES.map(() => 'added'))
    watching.abort()
    await watched
    for (const text of seen) expect(JSON.parse(text)).toHaveProperty('agents')
    const { agents, problems } = await readConfiguredAgents(home)
    expect(problems).toEqual([])
    expect(agents.map(({ name }) => name).sort()).toEqual([...NAMES].sort())
    expect(readdirSync(home)).toEqual(['agents.json'])
  }
})

test('a link in the place of the list is replaced: what it leads to stays as it was', async () => {
  const folder = newFolder()
  const other = path.join(folder, 'other.json')
  writeFileSync(other, '{ "agents": [] }')
  symlinkSync(other, agentsFile(folder))
  await addConfiguredAgent(folder, { name: 'mine', command: '/bin/true', args: [], env: [] })
  expect(readFileSync(other, 'utf8')).toBe('{ "agents": [] }')
  expect(lstatSync(agentsFile(folder)).isFile()).toBe(true)
})

function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'chirality-agents-list-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function startAdder(name: string): { child: ChildProcess; answer: () => Promise<string> } {
  const child = spawn(process.execPath, [PROGRAM, name], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return { child, answer: async () => (await lines.next()).value ?? 'ended' }
}

/** Every text that the file has while it is written. */
async function watchFile(file: string, seen: string[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      seen.push(readFileSync(file, 'utf8'))
    } catch {}
    await new Promise(resolve => setImmediate(resolve))
  }
}
