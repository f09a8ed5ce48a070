import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { SessionHarness } from '@chirality/core'
import { initRepository } from '@chirality/fixtures'
import { bundleProgram } from '@chirality/fixtures/bundle-program'
import { HarnessRegistry, readProcess } from '@chirality/runner'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startServer } from '../src/index.ts'
import { withRepository } from './support/repository.ts'
import { connect } from './support/trpc-client.ts'

test('a push of a server that was killed is ended by the next one, which says what is known of it', {
  timeout: 120_000,
}, async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-killed-push-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [project, home] = [path.join(folder, 'project'), path.join(folder, 'home')]
  const repository = initRepository(project)
  repository.write('a.txt', 'a\n')
  repository.run('add', 'a.txt')
  repository.run('commit', '-qm', 'first')
  const url = 'ssh://127.0.0.1/shop.git'
  repository.run('remote', 'add', 'origin', url)
  // It connects, and hears nothing.
  const ssh = path.join(folder, 'ssh')
  writeFileSync(ssh, `#!/bin/sh\necho $$ > '${ssh}.new'\nmv '${ssh}.new' '${ssh}.pid'\nexec sleep 600\n`, {
    mode: 0o755,
  })
  const program = await bundleProgram(fileURLToPath(new URL('programs/flooded-server.ts', import.meta.url)))
  onTestFinished(() => program.remove())
  const killed = spawn(process.execPath, [program.file, folder], {
    env: { PATH: process.env.PATH, HOME: folder, GIT_SSH_COMMAND: ssh },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(killed, 'exit')
  const [line] = await once(createInterface(killed.stdout), 'line')
  const { url: at, token, sessionId } = JSON.parse(String(line)) as Record<string, string>
  const commit = repository.run('rev-parse', 'HEAD').trim()
  void fetch(`${at}/trpc/review.push`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId, commit, url }),
  }).catch(() => {})
  await expect.poll(() => existsSync(`${ssh}.pid`), { timeout: 60_000 }).toBe(true)
  killed.kill('SIGKILL')
  await exited
  const pid = Number(readFileSync(`${ssh}.pid`, 'utf8'))
  const isRunning = async () => (await readProcess(pid))?.zombie === false
  onTestFinished(async () => void ((await isRunning()) && process.kill(pid, 'SIGKILL')))
  expect(await isRunning()).toBe(true)

  const server = await startServer({
    ...{ harnesses: new HarnessRegistry<SessionHarness>(), projects: [project], home, port: 0 },
  })
  onTestFinished(() => server.close())
  await expect.poll(isRunning, { timeout: 60_000 }).toBe(false)
  const { client } = connect(server)
  const said = async () => JSON.stringify(await client.sessions.history.query({ sessionId: sessionId ?? '' }))
  const words = `Whether origin has ${commit.slice(0, 9)} is not known`
  await expect.poll(said, { timeout: 60_000 }).toContain(words)
  await expect.poll(() => readdirSync(path.join(home, 'pushes')), { timeout: 60_000 }).toEqual([])
  expect((await client.review.state.query({ sessionId: sessionId ?? '' }))?.untold).toEqual([
    expect.stringContaining(words),
  ])
})

test('the branch of a fork is pushed to it, and its pull request is proposed for the repository that it came from', {
  timeout: 60_000,
}, async () => {
  const { client, repository, project } = await withRepository()
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-fork-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const bare = path.join(folder, 'bare.git')
  execFileSync('git', ['init', '-q', '--bare', bare])
  const program = (name: string, script: string) =>
    writeFileSync(path.join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  program('ssh', `exec git-receive-pack '${bare}'`)
  program('gh', `printf '%s\\n' "$@" > '${folder}/record'; echo https://github.com/o/shop/pull/7`)
  vi.stubEnv('GIT_SSH_COMMAND', path.join(folder, 'ssh'))
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  repository.run('remote', 'add', 'origin', 'git@github.com:me/shop.git')
  repository.run('remote', 'add', 'upstream', 'https://github.com/o/shop')
  const { id: sessionId } = await client.sessions.create.mutate({ project, title: 'Fork', worktree: {} })
  const { commit, url, pullRequest } = await client.review.pushPlan.query({ sessionId })
  if (!pullRequest.can) throw new Error(pullRequest.reason)
  expect(pullRequest.program).toBe('gh')
  expect(pullRequest.into.map(({ repository: name }) => name)).toEqual(['o/shop', 'me/shop'])
  expect(pullRequest.into[0]?.command).toContain(
    '--repo github.com/o/shop --head me:chirality/fork --base main',
  )
  const push = (into?: string) =>
    client.review.push.mutate({
      ...{ sessionId, commit, url },
      pullRequest: { title: 'Fork', body: '', ...(into === undefined ? {} : { into }) },
    })
  await expect(push('evil/shop')).rejects.toThrow('Nothing was pushed')
  expect(execFileSync('git', ['-C', bare, 'for-each-ref'], { encoding: 'utf8' })).toBe('')
  expect(await push()).toMatchObject({ kind: 'new', pullRequest: { kind: 'opened' } })
  expect(readFileSync(path.join(folder, 'record'), 'utf8').split('\n').slice(0, 6)).toEqual([
    ...['pr', 'create', '--repo', 'github.com/o/shop', '--head', 'me:chirality/fork'],
  ])
  await push('me/shop')
  expect(readFileSync(path.join(folder, 'record'), 'utf8')).toContain('github.com/me/shop\n')
})
