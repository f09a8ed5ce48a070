import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import type { SessionHarness } from '@chirality/core'
import { cleanHome } from '@chirality/fixtures'
import { HarnessRegistry, MessagesApiHarness } from '@chirality/runner'
import { startScriptedModel } from '@chirality/scripted-model'
import { startServer } from '@chirality/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { back, changes, discard, push } from '../src/commands/review.ts'
import { explain } from '../src/explain.ts'
import { Output } from '../src/output.ts'

test('some changes of a file taken back by number, a push that shows first what it does, back to before a turn, and submodules', {
  timeout: 400_000,
}, async () => {
  const model = await startScriptedModel({
    answers: ['Hello.', { tool: 'bash', input: { command: 'echo by the agent >> a.txt' } }, 'Written.'],
  })
  const { home, project, env, dispose } = await cleanHome(model)
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await model.close()
    await dispose()
  })
  const git = (...args: string[]) => execFileSync('git', args, { cwd: project, env, encoding: 'utf8' })
  const file = (name: string) => path.join(project, name)
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i + 1}`)
  const text = (first: string, last: string) => `${[first, ...lines.slice(1, -1), last].join('\n')}\n`
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'A User')
  git('config', 'user.email', 'user@example')
  writeFileSync(file('a.txt'), 'mine\n')
  writeFileSync(file('b.txt'), text('line 1', 'line 30'))
  git('add', '.')
  git('commit', '-qm', 'first')
  const data = path.join(home, 'chirality')
  vi.stubEnv('CHIRALITY_HOME', data)
  const harnesses = new HarnessRegistry<SessionHarness>()
  harnesses.register(new MessagesApiHarness({ environment: env }))
  const server = await startServer({ harnesses, projects: [project], port: 0, home: data })
  onTestFinished(() => server.close())
  const { id } = await server.host.createSession(project, {
    ...{ harness: 'messages-api', title: 'Lines' },
  })
  const session = await server.host.session(id)
  for (const message of ['Hi', 'Add a line.']) {
    await session.start(message, { permissionMode: 'bypassPermissions' })
    await session.settled()
  }
  expect(readFileSync(file('a.txt'), 'utf8')).toBe('mine\nby the agent\n')

  // Also waits until the files after the turn are recorded: what is changed from here on is a person's.
  expect(await run(changes, id)).toMatchObject({ code: 0, stdout: expect.stringContaining('  a.txt\n') })
  writeFileSync(file('b.txt'), text('first', 'last'))
  const numbered = await run(changes, id, 'b.txt')
  expect(numbered.stdout).toMatch(/^1 {2}@@ -1,4 \+1,4 @@\n {3}-line 1\n {3}\+first\n.*^2 {2}@@ /ms)
  expect(await run(changes, id, 'none.txt')).toMatchObject({ code: 2 })
  expect(await run(discard, id, 'b.txt', '--hunk', '3')).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('has no change "3", but 2') },
  })
  expect(await run(discard, id, 'a.txt', 'b.txt', '--hunk', '1')).toMatchObject({ code: 2 })
  expect(await run(discard, id, 'b.txt', '--hunk', '2')).toMatchObject({ code: 0 })
  expect(readFileSync(file('b.txt'), 'utf8')).toBe(text('first', 'line 30'))

  const none = await run(push, id, '--dry-run')
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('no remote to push to') })
  const bare = path.join(home, 'bare.git')
  git('init', '-q', '--bare', bare)
  git('remote', 'add', 'origin', bare)
  const refs = () => git('-C', bare, 'for-each-ref', '--format=%(objectname)')
  const asks = await run(push, id)
  expect(asks).toMatchObject({ code: 2, stderr: expect.stringContaining('Say --yes to push it') })
  expect(asks.stdout).toMatch(/: a new branch there\n {2}[0-9a-f]{9} first\n.*Not committed.*^git push /ms)
  expect(refs()).toBe('')
  expect(await run(push, id, '--pr')).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('Only for GitHub') },
  })
  expect(await run(push, id, '--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Pushed main'),
  })
  expect(refs()).toBe(git('rev-parse', 'HEAD'))
  expect(await run(push, id)).toMatchObject({ code: 0, stdout: 'Nothing to push: origin has it all.\n' })
  git('checkout', '-q', '--detach')
  expect(await run(push, id)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No branch is checked out'),
  })

  const turns = (await run(back, id)).stdout.trim().split('\n')
  expect(turns.map(shown => shown.replace(/^\S+ {2}/, ''))).toEqual(['Hi', 'Add a line.'])
  const last = turns.at(-1)?.split(' ')[0] ?? ''
  expect(await run(back, id, last)).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('Say --yes to go back') },
    stdout: expect.stringContaining('Files as they were then:\n  a.txt\nNot undone:\n'),
  })
  const went = await run(back, id, last, '--yes')
  expect(went).toMatchObject({ code: 0, stdout: expect.stringContaining(`chirality back ${id} --undo`) })
  expect(readFileSync(file('a.txt'), 'utf8')).toBe('mine\n')
  // From the session that it made, too.
  const made = /goes on in (\S+)\./.exec(went.stdout)?.[1] ?? ''
  expect(await run(back, made, '--undo')).toMatchObject({
    ...{ code: 0, stdout: expect.stringContaining(`It goes on in ${id}.\n  a.txt\n`) },
  })
  expect(readFileSync(file('a.txt'), 'utf8')).toBe('mine\nby the agent\n')
  expect(await run(back, id, '--undo')).toMatchObject({ code: 2 })

  git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', project, 'lib')
  git('commit', '-qam', 'with a submodule')
  expect((await run(changes, id)).stdout).toContain('Everything is committed.\n')
  const inLib = (...args: string[]) => git('-C', 'lib', ...args).trim()
  const from = inLib('rev-parse', 'HEAD')
  inLib('-c', 'user.name=me', '-c', 'user.email=me@example', 'commit', '-q', '--allow-empty', '-m', 'further')
  const to = inLib('rev-parse', 'HEAD')
  const { stdout } = await run(changes, id)
  expect(stdout).toContain(
    `Submodules at another commit, which only git commits:\n  lib ${from.slice(0, 9)} → ${to.slice(0, 9)}\n`,
  )
  expect(stdout).not.toContain('Everything is committed.')
  expect(JSON.parse((await run(changes, id, '--json')).stdout)).toMatchObject({
    submodules: [{ path: 'lib', from, to }],
  })
})

/** A command as `main()` runs it, in this process: each would load the whole program again. */
async function run(
  command: typeof push,
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
