import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { processEnv, runHelper } from '@chirality/runner'

export const BROKEN_LINE = "  return 'Hello ' + name"
export const FIXED_LINE = "  return 'Hello, ' + name + '!'"

/** A tiny project with one bug that its own test shows. It is in the user's data folder. */
export async function makeDemoProject(dataFolder: string): Promise<string> {
  const folder = path.join(dataFolder, 'demo', 'greeter')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await breakDemoProject(folder)
  await commitAll(folder)
  return folder
}

/** The files with the bug. */
export async function breakDemoProject(folder: string): Promise<void> {
  for (const [name, text] of Object.entries(FILES)) await writeFile(path.join(folder, name), text)
}

const FILES = {
  'README.md': '# greeter\n\nSays hello. `node --test` shows that it does not do it well yet.\n',
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

/** A commit gives the changes a base to compare with. Without git they come from the agent's reports. */
async function commitAll(folder: string): Promise<void> {
  const { PATH = '' } = processEnv()
  const env = {
    ...{ PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
    ...{ GIT_AUTHOR_NAME: 'Demo', GIT_AUTHOR_EMAIL: 'demo@localhost' },
    ...{ GIT_COMMITTER_NAME: 'Demo', GIT_COMMITTER_EMAIL: 'demo@localhost' },
  }
  // Where there is no git, each of them fails.
  const git = (...args: string[]) => runHelper('git', args, { cwd: folder, env })
  await git('init', '--quiet')
  await git('add', '--', ...Object.keys(FILES))
  await git('commit', '--quiet', '--allow-empty', '--message', 'A greeter with a fault')
}
