import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { type SessionHarness, visibleLine } from '@chirality/core'
import { cleanHome } from '@chirality/fixtures'
import { HarnessRegistry, MessagesApiHarness } from '@chirality/runner'
import { startScriptedModel } from '@chirality/scripted-model'
import { startServer } from '@chirality/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { blame } from '../src/commands/blame.ts'
import { back, changes, discard } from '../src/commands/review.ts'
import { explain } from '../src/explain.ts'
import { Output } from '../src/output.ts'

const NAMES = [
  'a b.txt',
  'it\'s "so".txt',
  'tab\there.txt',
  'line\nbreak.txt',
  'back\\slash.txt',
  'ümlaut 漢.txt',
]

test('files with spaces, quotes, tabs and line breaks in their names are shown, taken back, blamed and gone back to', {
  timeout: 400_000,
}, async () => {
  const model = await startScriptedModel({
    answers: [
      { tool: 'bash', input: { command: 'for f in *.txt; do echo by the agent >> "$f"; done' } },
      'Written.',
    ],
    otherwise: 'A title.',
  })
  const { home, project, env, dispose } = await cleanHome(model)
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await model.close()
    await dispose()
  })
  const git = (...args: string[]) => execFileSync('git', args, { cwd: project, env, encoding: 'utf8' })
  const file = (name: string) => path.join(project, name)
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'A User')
  git('config', 'user.email', 'user@example')
  for (const name of NAMES) writeFileSync(file(name), 'mine\n')
  git('add', '.')
  git('commit', '-qm', 'first')
  const data = path.join(home, 'chirality')
  vi.stubEnv('CHIRALITY_HOME', data)
  const harnesses = new HarnessRegistry<SessionHarness>()
  harnesses.register(new MessagesApiHarness({ environment: env }))
  const server = await startServer({ harnesses, projects: [project], port: 0, home: data })
  onTestFinished(() => server.close())
  const { id } = await server.host.createSession(project, { harness: 'messages-api' })
  const session = await server.host.session(id)
  await session.start('Add a line.', { permissionMode: 'bypassPermissions' })
  await session.settled()
  const all = await run(changes, id)
  expect(all).toMatchObject({ code: 0 })
  for (const name of NAMES) expect(all.stdout).toContain(`  ${visibleLine(name)}\n`)
  for (const name of NAMES) {
    const one = await run(changes, id, name)
    expect({ name, ...one }).toMatchObject({
      name,
      code: 0,
      stdout: expect.stringContaining('+by the agent\n'),
    })
    const blamed = await run(blame, `${file(name)}:2`)
    expect({ name, ...blamed }).toMatchObject({
      name,
      code: 0,
      stdout: expect.stringContaining('Add a line.'),
    })
    expect(blamed.stdout.startsWith(`${visibleLine(name)}:2  by the agent\n`)).toBe(true)
  }
  // A line of a file that looks like the name of another one.
  writeFileSync(file('a b.txt'), 'mine\n++ b/none.txt\n')
  expect(await run(changes, id, 'none.txt')).toMatchObject({ code: 2 })
  for (const name of NAMES.slice(1, 4)) {
    const taken = await run(discard, id, name, '--hunk', '1')
    expect({ name, ...taken }).toMatchObject({
      name,
      code: 0,
      stdout: expect.stringContaining(visibleLine(name)),
    })
    expect(readFileSync(file(name), 'utf8')).toBe('mine\n')
  }
  const [turn = ''] = (await run(back, id)).stdout.split(' ')
  const gone = await run(back, id, turn, '--yes', '--overwrite')
  expect(gone).toMatchObject({ code: 0 })
  for (const name of NAMES.slice(4)) expect(gone.stdout).toContain(`  ${visibleLine(name)}\n`)
  for (const name of NAMES) {
    expect(existsSync(file(name))).toBe(true)
    expect({ name, text: readFileSync(file(name), 'utf8') }).toEqual({ name, text: 'mine\n' })
  }
})
async function run(
  command: typeof changes,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const stream = new PassThrough()
  let stdout = ''
  stream.on('data', (chunk: Buffer) => {
    stdout += chunk.toString('utf8')
  })
  const output = new Output(stream as unknown as NodeJS.WriteStream)
  try {
    const code = await command(args, output)
    await output.flushed()
    return { code, stdout, stderr: '' }
  } catch (error) {
    await output.flushed()
    const { code, message } = explain(error)
    return { code, stdout, stderr: message }
  }
}
