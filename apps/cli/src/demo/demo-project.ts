import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

export interface DemoProject {
  /** Where the agent works. */
  folder: string
  /** A home of its own, so that nothing of the user's settings counts and nothing is left in them. */
  home: string
  remove(): Promise<void>
}

/** A tiny project with one bug that its own test shows. */
export async function createDemoProject(): Promise<DemoProject> {
  const base = await mkdtemp(path.join(tmpdir(), 'chirality-demo-'))
  const folder = path.join(base, 'greeter')
  const home = path.join(base, 'home')
  await mkdir(folder)
  await mkdir(path.join(home, 'tmp'), { recursive: true })
  for (const [name, text] of Object.entries(FILES)) await writeFile(path.join(folder, name), text)
  return { folder, home, remove: () => rm(base, { recursive: true, force: true, maxRetries: 3 }) }
}

export const BROKEN_LINE = "  return 'Hello ' + name"
export const FIXED_LINE = "  return 'Hello, ' + name + '!'"

const FILES = {
  'package.json': '{ "name": "greeter", "type": "module" }\n',
  'greet.js': `export function greet(name) {\n${BROKEN_LINE}\n}\n`,
  'greet.test.js': `import assert from 'node:assert'
import { test } from 'node:test'
import { greet } from './greet.js'

test('greets politely', () => {
  assert.equal(greet('Ada'), 'Hello, Ada!')
})
`,
}
