import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, expect, test } from 'vitest'
import { eventsOf, useHostWorld } from '../support/host-world.ts'
import { answers, ScriptedHarness } from '../support/scripted-harness.ts'

const world = useHostWorld()
let repository: Repository

beforeEach(() => {
  repository = initRepository(world.project)
  repository.write('README.md', 'A project.\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
})

test('two sessions with worktrees change the same file at once, and neither the other nor the project sees it', async () => {
  const write = (text: string) => ({
    blocks: [{ tool: 'Bash', input: { command: `echo ${text} > README.md; pwd > here.txt` } }],
  })
  const model = await world.model({ answers: [write('one'), 'Done.', write('two'), 'Done.'] })
  const host = world.host([world.claude(model)])
  const folders: string[] = []
  for (const text of ['one', 'two']) {
    const { id } = await host.createSession(world.project, { title: `Say ${text}`, worktree: {} })
    const session = await host.session(id)
    const folder = session.status.worktree?.folder ?? ''
    await session.start('Go', { autoApproveTools: ['Bash'] })
    await session.settled()
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toBe(`${text}\n`)
    expect(readFileSync(join(folder, 'here.txt'), 'utf8').trim()).toBe(folder)
    expect(eventsOf(session).at(-1)).toMatchObject({ type: 'process:exit' })
    folders.push(folder)
  }
  expect(new Set(folders).size).toBe(2)
  expect(readFileSync(join(world.project, 'README.md'), 'utf8')).toBe('A project.\n')
  expect(repository.run('status', '--porcelain')).toBe('')
  const logs = readdirSync(world.file('events')).filter(name => name.endsWith('.ndjson'))
  expect(logs).toHaveLength(2)
})

test('rules about files hold in the worktree, and for the project folder, too', async () => {
  const host = world.host([new ScriptedHarness([])])
  const { id } = await host.createSession(world.project, { worktree: {} })
  const { worktree } = (await host.session(id)).status
  const folder = worktree?.folder ?? ''
  const context = {
    sessionId: id,
    projectRoot: world.project,
    workFolder: folder,
    persona: null,
    harness: 'x',
  }
  const file = host.policies.places(world.project).project
  await host.policies.allowAlways(context, ask('Write', join(folder, 'src', 'a.ts')))
  const rules = readFileSync(file, 'utf8')
  expect(rules).not.toContain(folder)
  writeFileSync(file, `${rules}deny Write(secrets/**)\n`)
  const judge = async (path: string) => (await host.policies.judge(context, ask('Write', path))).effect
  expect(await judge(join(folder, 'src', 'a.ts'))).toBe('allow')
  expect(await judge(join(world.project, 'src', 'a.ts'))).toBe('ask')
  expect(await judge(join(folder, 'secrets', 'k'))).toBe('deny')
  expect(await judge(join(world.project, 'secrets', 'k'))).toBe('deny')
  const guard = await host.policies.guard(context, 'acceptEdits')
  for (const root of [folder, world.project])
    expect(await guard.judge(ask('Write', join(root, 'agents', 'AGENT_X.md')))).toMatchObject({
      effect: 'ask',
    })
})

test('a session whose worktree is gone can be read, and its turns are refused until it is restored', async () => {
  const host = world.host([new ScriptedHarness([answers('One.'), answers('Two.')])])
  const { id } = await host.createSession(world.project, { worktree: {} })
  const session = await host.session(id)
  await session.start('Go')
  await session.settled()
  const { folder = '', id: worktreeId = '' } = session.status.worktree ?? {}
  rmSync(folder ?? '', { recursive: true })
  await expect(session.start('Go on')).rejects.toMatchObject({
    code: 'worktree-missing',
    message: expect.stringContaining(`chirality worktrees restore ${worktreeId}`),
  })
  await host.worktrees.restore(worktreeId)
  await session.start('Go on')
  await session.settled()
  expect(eventsOf(session).filter(({ type }) => type === 'turn:end')).toHaveLength(2)
})

test('a session file that names an unknown worktree, or one of another project, starts nothing', async () => {
  const other = initRepository(join(world.root, 'other'))
  other.write('x', 'x')
  other.run('add', '.')
  other.run('commit', '-qm', 'x')
  const host = world.host([new ScriptedHarness([answers('Never said.'), answers('Never said.')])])
  const foreign = await host.createSession(other.root, { worktree: {} })
  for (const worktree of ['nowhere', '../../etc', foreign.worktree]) {
    const { id } = await host.createSession(world.project)
    await host.store.update(id, { worktree })
    const started = host.session(id).then(session => session.start('Go'))
    await expect(started).rejects.toMatchObject({
      code: expect.stringMatching(/^(worktree-missing|unsafe)$/),
    })
  }
})

test('deleting a session removes its worktree, and keeps what was not committed', async () => {
  const host = world.host([new ScriptedHarness([])])
  const { id } = await host.createSession(world.project, { title: 'Try', worktree: {} })
  const session = await host.session(id)
  const { folder, id: worktreeId = '' } = session.status.worktree ?? {}
  writeFileSync(join(folder ?? '', 'new.txt'), 'mine\n')
  await host.deleteSession(id)
  expect(existsSync(folder ?? '')).toBe(false)
  expect(await host.worktrees.list()).toMatchObject([
    { id: worktreeId, condition: 'removed', kept: { files: 1 } },
  ])
})

test('a fork of a session in a worktree is refused without another worktree for it', async () => {
  const host = world.host([new ScriptedHarness([])])
  const { id } = await host.createSession(world.project, { worktree: {} })
  await expect(host.forkSession(id)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('a worktree of its own'),
  })
  expect(await host.worktrees.list()).toHaveLength(1)
})

test('a removed worktree keeps its session readable, and refuses its turns', async () => {
  const host = world.host([new ScriptedHarness([answers('One.')])])
  const { id, worktree } = await host.createSession(world.project, { worktree: {} })
  const session = await host.session(id)
  await session.start('Go')
  await session.settled()
  await host.removeWorktree(worktree ?? '')
  expect(eventsOf(session).filter(({ type }) => type === 'turn:end')).toHaveLength(1)
  await expect(session.start('Go on')).rejects.toMatchObject({ code: 'worktree-missing' })
})

function ask(toolName: string, path: string) {
  return {
    type: 'permission:request',
    sessionId: 's',
    requestId: 'r',
    kind: 'tool',
    toolName,
    input: { file_path: path },
    raw: {},
  } as const
}
