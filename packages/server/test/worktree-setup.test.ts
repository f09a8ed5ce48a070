import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { checkAnswers } from '@chirality/centre'
import type { PermissionMode } from '@chirality/core'
import { initRepository } from '@chirality/fixtures'
import { findByMarker } from '@chirality/runner'
import { setupMarker } from '@chirality/workspaces'
import { expect, test } from 'vitest'
import { createWorld, serveWorld } from './support/agents.ts'
import { connect } from './support/trpc-client.ts'
import { SessionWatch } from './support/watch-session.ts'

test('a worktree is set up before its agent is asked: only by a person, by exactly this text, once for each', async () => {
  const { begin, write, folderOf, client, server, home, project } = await createSetups()
  write(
    "copy: ['.env*']\ncommand: echo setting up on $PORT; cat .env > made.txt\nvariables: { PORT: '{port}' }\n",
  )
  // A rule that allows every call, and a mode that asks nothing, do not answer.
  const policies = path.join(home, 'policies')
  mkdirSync(policies, { mode: 0o700, recursive: true })
  writeFileSync(path.join(policies, 'global.policy'), 'allow WorkspaceSetup\n', { mode: 0o600 })
  const first = await begin('First')
  const request = await first.watch.until('permission:request')
  expect(request).toMatchObject({
    toolName: 'WorkspaceSetup',
    input: { text: expect.stringContaining('echo setting up'), command: expect.stringContaining('cat .env') },
  })
  expect(existsSync(path.join(folderOf(first.session), 'made.txt'))).toBe(false)
  await client.decisions.answer.mutate({
    ...{ sessionId: first.session.id, requestId: request.requestId, decision: { behavior: 'allow' } },
  })
  const result = await first.watch.until('tool:result')
  expect(result).toMatchObject({ isError: false, content: expect.stringMatching(/^setting up on \d+$/) })
  await first.session.settled()
  expect(readFileSync(path.join(folderOf(first.session), 'made.txt'), 'utf8')).toBe('SECRET=1\n')
  const port = readFileSync(path.join(folderOf(first.session), 'agent-port.txt'), 'utf8')
  expect(result.content).toBe(`setting up on ${port.trim()}`)

  // Another worktree is not asked about, and has a port of its own.
  const second = await begin('Second')
  await second.session.settled()
  const other = readFileSync(path.join(folderOf(second.session), 'agent-port.txt'), 'utf8')
  expect(other).toMatch(/^\d+\n$/)
  expect(other).not.toBe(port)
  expect(server.host.decisions.pending()).toEqual([])

  // Where nobody can be asked, the turn goes on without it.
  write('command: touch hostile.txt\n')
  const unasked = await begin('Unasked', 'dontAsk')
  await unasked.session.settled()
  expect(existsSync(path.join(folderOf(unasked.session), 'hostile.txt'))).toBe(false)

  // Another text is, and without an allowance nothing of it is done; the agent works all the same.
  write("copy: ['.env*']\ncommand: touch hostile.txt\n")
  const third = await begin('Third')
  const { requestId } = await third.watch.until('permission:request')
  const deny = { behavior: 'deny', message: 'No.' } as const
  await client.decisions.answer.mutate({ sessionId: third.session.id, requestId, decision: deny })
  await third.session.settled()
  const folder = folderOf(third.session)
  expect(['hostile.txt', '.env', 'agent-port.txt'].map(name => existsSync(path.join(folder, name)))).toEqual([
    false,
    false,
    true,
  ])

  // The user's own settings take the place of the file. They are the user's word: nobody is asked.
  const text = "copy: ['.env*']\ncommand: touch hostile.txt\n"
  const asked = { copy: ['.env*'], share: [], clone: [], command: 'touch hostile.txt', minutes: 10 }
  const theirs = { text, read: { isGood: true, setup: { ...asked, variables: {} } } }
  expect(await client.worktrees.setup.query({ project })).toEqual({ own: null, file: theirs })
  const setup = { ...asked, command: 'echo $PORT > own.txt', variables: { PORT: '{port}' } }
  for (const bad of [
    { copy: ['../.env'] },
    { share: ['.git'] },
    { clone: ['a*'] },
    { command: '  ' },
    { minutes: 0 },
    { variables: { PATH: '/tmp' } },
  ])
    await expect(
      client.worktrees.saveSetup.mutate({ project, setup: { ...setup, ...bad } }),
      JSON.stringify(bad),
    ).rejects.toMatchObject({ data: { httpStatus: 400 } })
  const saved = { own: { isGood: true, setup }, file: theirs }
  expect(await client.worktrees.saveSetup.mutate({ project, setup })).toEqual(saved)
  const fourth = await begin('Fourth', 'dontAsk')
  await fourth.session.settled()
  const own = readFileSync(path.join(folderOf(fourth.session), 'own.txt'), 'utf8')
  expect(own).toMatch(/^\d+\n$/)
  expect(readFileSync(path.join(folderOf(fourth.session), '.env'), 'utf8')).toBe('SECRET=1\n')
  expect(existsSync(path.join(folderOf(fourth.session), 'hostile.txt'))).toBe(false)
  const removed = await client.worktrees.saveSetup.mutate({ project, setup: null })
  expect(removed).toEqual({ own: null, file: theirs })
})

test('Stop ends a set-up command that never ends, with all that it started, and the turn', async () => {
  const { begin, write, folderOf, client } = await createSetups()
  write('command: sleep 1000 & echo $! > started; yes | head -c 100000000 > /dev/null; wait\n')
  const { watch, session } = await begin('Stopped')
  const { requestId } = await watch.until('permission:request')
  await client.decisions.answer.mutate({ sessionId: session.id, requestId, decision: { behavior: 'allow' } })
  await expect.poll(() => existsSync(path.join(folderOf(session), 'started')), { timeout: 60_000 }).toBe(true)
  session.interrupt()
  const end = await watch.until('turn:end')
  expect(end).toMatchObject({ reason: 'interrupted' })
  await session.settled()
  expect(await findByMarker(setupMarker(session.status.worktree?.id ?? ''))).toEqual([])
  expect(existsSync(path.join(folderOf(session), 'agent-port.txt'))).toBe(false)
})

async function createSetups() {
  checkAnswers()
  const world = await createWorld({
    answers: Array.from({ length: 5 }, () => [
      { tool: 'bash', input: { command: 'echo $PORT > agent-port.txt' } },
      'Done.',
    ]).flat(),
  })
  const repository = initRepository(world.project)
  repository.write('.gitignore', '.env*\n.chirality\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  repository.write('.env', 'SECRET=1\n')
  const server = await serveWorld(world)
  const { client } = connect(server)
  return {
    ...{ server, client, project: world.project, home: path.join(world.home, 'chirality') },
    write: (text: string) => {
      mkdirSync(path.join(world.project, '.chirality'), { recursive: true })
      writeFileSync(path.join(world.project, '.chirality/workspace.yaml'), text)
    },
    begin: async (title: string, permissionMode: PermissionMode = 'bypassPermissions') => {
      const chosen = { harness: 'messages-api', title, worktree: {} } as const
      const { id } = await server.host.createSession(world.project, chosen)
      const session = await server.host.session(id)
      const watch = new SessionWatch(client, id)
      await session.start('Go', { permissionMode })
      return { session, watch }
    },
    folderOf: ({ status }: { status: { worktree?: { folder: string | null } | undefined } }) =>
      status.worktree?.folder ?? '',
  }
}
