import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createClient } from '@chirality/client'
import { initRepository, type Repository } from '@chirality/fixtures'
import type { Script } from '@chirality/scripted-model'
import { readServerFile } from '@chirality/server'
import { userDataFolder } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { createWorld, type World } from './support/world.ts'

interface GitWorld extends World {
  repository: Repository
  text(name: string): string
}

/** A project with one commit: a.txt has a line of its user. */
async function gitWorld(script: Script): Promise<GitWorld> {
  const world = await createWorld(script)
  const repository = initRepository(world.project)
  repository.write('a.txt', 'mine\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  return { ...world, repository, text: name => readFileSync(path.join(world.project, name), 'utf8') }
}

const bash = (command: string) => ({ tool: 'bash', input: { command } })
const RUN = ['--harness', 'messages-api', '--permission-mode', 'bypassPermissions']

/** The session and the turn of `chirality run --json`. */
async function runTurn(
  world: World,
  message: string,
  ...more: string[]
): Promise<{ sessionId: string; turnId: string }> {
  const { code, stdout, stderr } = await world.run(['run', message, ...RUN, ...more, '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [first] = jsonLines(stdout)
  return { sessionId: first?.sessionId ?? '', turnId: first?.turnId ?? '' }
}

/** What the page of a server that is started now shows of a turn. */
async function turnOnPage(world: World, sessionId: string, turnId: string) {
  const server = world.start(['serve', '--json', '--port', '0', '--project', world.project])
  await server.shows('\n')
  const { url } = JSON.parse(server.stdout) as { url: string }
  const file = await readServerFile(userDataFolder(world.env), url)
  if (file === undefined) throw new Error('the server has no file')
  const { files, review } = createClient(file)
  const diff = await files.turnDiff.query({ sessionId, turnId })
  const plan = await review.backPlan.query({ sessionId, turnId })
  server.signal('SIGTERM')
  await server.result()
  return { source: diff.source, files: diff.files.map(each => each.path), plan }
}

test('a turn of chirality run without a server is recorded: blame, changes and back know it, and so does a later server', {
  timeout: 400_000,
}, async () => {
  const world = await gitWorld({
    answers: [
      ...[bash('echo by the agent >> a.txt; echo new > new.txt'), 'Written.'],
      ...[bash('echo again >> new.txt'), 'Again.'],
    ],
  })
  const { sessionId, turnId } = await runTurn(world, 'Add a line.')
  expect(world.text('a.txt')).toBe('mine\nby the agent\n')

  const blamed = await world.run(['blame', 'a.txt:2'])
  expect(blamed).toMatchObject({ code: 0, stderr: '' })
  expect(blamed.stdout).toContain('messages-api')
  expect(blamed.stdout).toContain('Prompt: Add a line.')
  expect(blamed.stdout).toMatch(new RegExp(`Session ${sessionId}.*, turn ${turnId}`))
  expect((await world.run(['blame', 'a.txt:1'])).stdout).toContain('Not written in a turn')

  const changed = await world.run(['changes', sessionId])
  expect(changed).toMatchObject({ code: 0, stderr: '' })
  expect(changed.stdout).toContain('Not committed:\n  a.txt\n  new.txt\n')
  const hunks = await world.run(['changes', sessionId, 'a.txt', '--turn', turnId])
  expect(hunks.stdout).toContain('+by the agent')

  expect(await turnOnPage(world, sessionId, turnId)).toMatchObject({
    source: 'git',
    files: ['a.txt', 'new.txt'],
    plan: { files: ['a.txt', 'new.txt'] },
  })

  const second = await runTurn(world, 'And another.', '--session', sessionId)
  expect((await world.run(['blame', 'new.txt:2'])).stdout).toContain(`turn ${second.turnId}`)
  expect((await world.run(['blame', 'new.txt:1'])).stdout).toContain(`turn ${turnId}`)

  const turns = await world.run(['back', sessionId])
  expect(turns.stdout).toBe(`${turnId}  Add a line.\n${second.turnId}  And another.\n`)
  const back = await world.run(['back', sessionId, turnId, '--yes'])
  expect(back).toMatchObject({ code: 0, stderr: '' })
  expect(world.text('a.txt')).toBe('mine\n')
  expect(existsSync(path.join(world.project, 'new.txt'))).toBe(false)
  const undone = await world.run(['back', sessionId, '--undo'])
  expect(undone).toMatchObject({ code: 0, stderr: '' })
  expect(world.text('a.txt')).toBe('mine\nby the agent\n')
  expect(world.text('new.txt')).toBe('new\nagain\n')
})

test('a task that chirality loop run proved without a server has its turn: blame names it, and so does a later server', {
  timeout: 400_000,
}, async () => {
  const world = await gitWorld({ answers: [bash('echo hello > hello.txt'), 'Done.'] })
  world.repository.write(
    'TASKS.md',
    '---\nharness: messages-api\n---\n\n- [ ] Say hello\n  checks: grep -q hello hello.txt\n',
  )
  const { code, stdout } = await world.run(['loop', 'run', 'TASKS.md', '--json'])
  expect(code).toBe(0)
  const entries = jsonLines(stdout) as unknown as { type: string; sessionId?: string; loopId?: string }[]
  const sessionId = entries.find(({ type }) => type === 'task:start')?.sessionId ?? ''
  const status = await world.run(['loop', 'status', '--json'])
  const { loopId } = JSON.parse(status.stdout) as { loopId: string }
  expect(await world.run(['loop', 'accept', loopId])).toMatchObject({ code: 0 })
  expect(world.text('hello.txt')).toBe('hello\n')

  const blamed = await world.run(['blame', 'hello.txt:1'])
  expect(blamed).toMatchObject({ code: 0, stderr: '' })
  expect(blamed.stdout).toContain('messages-api')
  const [, turnId = ''] = new RegExp(`Session ${sessionId}.*, turn (\\S+)`).exec(blamed.stdout) ?? []
  expect(turnId).not.toBe('')
  expect(await turnOnPage(world, sessionId, turnId)).toMatchObject({ source: 'git', files: ['hello.txt'] })
})

test('a turn whose chirality run was killed is ended by the next command: its files are known, and its end counts as late', {
  timeout: 400_000,
}, async () => {
  const world = await gitWorld({
    answers: [bash('echo by the agent >> a.txt'), { text: 'This takes its time.', stallAfter: 1 }],
  })
  const killed = world.start(['run', 'Add a line.', ...RUN, '--json'])
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  await killed.prints('tool:result')
  killed.signal('SIGKILL')
  await killed.result()
  const [first] = jsonLines(killed.stdout)
  const { sessionId = '', turnId = '' } = { sessionId: first?.sessionId, turnId: first?.turnId ?? '' }
  // Nobody knows who does that: no host runs.
  world.repository.write('b.txt', 'by a person\n')

  const plan = await world.run(['back', sessionId, turnId])
  expect(plan.stdout).toContain('Somebody else changed since')
  expect(plan.stdout).toContain('When 1 turn since then ended, Chirality was not running')
  expect((await world.run(['blame', 'a.txt:2'])).stdout).toContain(`turn ${turnId}`)
  expect(await turnOnPage(world, sessionId, turnId)).toMatchObject({
    source: 'git',
    files: ['a.txt', 'b.txt'],
  })
  const back = await world.run(['back', sessionId, turnId, '--yes', '--overwrite'])
  expect(back).toMatchObject({ code: 0 })
  expect(world.text('a.txt')).toBe('mine\n')
})
