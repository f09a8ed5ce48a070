import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { claudeBinary, initRepository } from '@chirality/fixtures'
import { LoopBook } from '@chirality/loops'
import { ClaudeCodeHarness } from '@chirality/runner'
import type { Script, ScriptAnswer } from '@chirality/scripted-model'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../src/index.ts'
import { createWorld, type World } from './support/agents.ts'
import { connect } from './support/trpc-client.ts'

const SLOW = { timeout: 500_000, interval: 100 }
const bash = (command: string) => ({ tool: 'Bash', input: { command } })

/** What the model says to the messages of a task. Each prompt of a loop begins with the task. */
function route(title: string, answers: ScriptAnswer[], otherwise: ScriptAnswer = 'I am done.') {
  return { when: { conversationContains: `## Task\n\n${title}` }, answers, otherwise }
}

/** Runs a list to its end. */
async function runLoop(world: World, list: string, claude?: string) {
  const { project, home } = world
  const repository = initRepository(project)
  repository.write('README.md', 'A project.\n')
  repository.write('TASKS.md', list)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  const harnesses = world.harnesses()
  if (claude !== undefined) {
    harnesses.unregister('claude-code')
    harnesses.register(new ClaudeCodeHarness({ binaryPath: claude, environment: { HOME: home } }))
  }
  const server = await startServer({
    ...{ harnesses, projects: [project], port: 0, home: path.join(home, 'chirality') },
  })
  onTestFinished(() => server.close())
  const { loops } = connect(server).client
  const { loopId } = await loops.start.mutate({ project, list: 'TASKS.md' })
  await expect.poll(async () => (await loops.get.query({ loopId })).end, SLOW).not.toBeNull()
  const { tasks } = await loops.get.query({ loopId })
  const book = new LoopBook(project, path.join(home, 'chirality'))
  const prompt = (task: string, n: number) =>
    readFileSync(path.join(book.folder(loopId), 'prompts', `${task}-${n}.md`), 'utf8')
  const report = await book.report(await book.get(loopId))
  return {
    tasks: Object.fromEntries(tasks.map(task => [task.id, task])),
    report,
    prompt,
    state: await book.get(loopId),
  }
}

const REFUSED: ScriptAnswer = { text: 'I cannot help with that.', stopReason: 'refusal' }
const INVALID: ScriptAnswer = {
  error: { status: 400, type: 'invalid_request_error', message: 'The request is not valid.' },
}
const TOO_LONG: ScriptAnswer = {
  error: {
    status: 400,
    type: 'invalid_request_error',
    message: 'prompt is too long: 250000 tokens > 200000',
  },
}
const BROKEN: ScriptAnswer = {
  error: {
    status: 500,
    type: 'api_error',
    message: 'Something broke.',
    headers: { 'x-should-retry': 'false' },
  },
}

test.each(['claude-code', 'messages-api'])(
  'a turn of %s that failed is decided by its error, which report, status and next prompt say',
  { timeout: 600_000 },
  async harness => {
    const tool =
      harness === 'claude-code' ? bash : (command: string) => ({ tool: 'bash', input: { command } })
    const script: Script = {
      routes: [
        route('Not valid', [], INVALID),
        route('Flagged', [], REFUSED),
        route('Grows\n\n## What was done before', [tool('echo two > grows.txt')]),
        route('Grows', [], TOO_LONG),
        route('Too large', [], TOO_LONG),
        route('Down', [], BROKEN),
        route('Up again', [BROKEN, tool('echo up > up.txt')]),
      ],
      otherwise: 'A title.',
    }
    const world = await createWorld(script, { CLAUDE_CODE_MAX_RETRIES: '0' })
    const titles = ['Not valid', 'Flagged', 'Grows\n  checks: grep -q two grows.txt', 'Too large', 'Down']
    const { tasks, report, prompt } = await runLoop(
      world,
      `---\nharness: ${harness}\nmax_failures: 9\nparallel: 2\n---\n${[...titles, 'Up again'].map(title => `- [ ] ${title}\n`).join('')}`,
    )
    expect(tasks['not-valid']).toMatchObject({
      ...{ status: 'parked', parked: 'harness', iterations: 1 },
      why: expect.stringContaining('The request is not valid.'),
    })
    expect(tasks.flagged).toMatchObject({ status: 'parked', parked: 'harness', iterations: 1 })
    expect(tasks.grows).toMatchObject({ status: 'merged', iterations: 2 })
    expect(prompt('grows', 2)).toMatch(/too long/i)
    expect(prompt('grows', 2)).toContain('look at it first')
    expect(tasks['too-large']).toMatchObject({
      ...{ status: 'failed', iterations: 2, why: expect.stringMatching(/too long/i) },
    })
    expect(tasks.down).toMatchObject({
      ...{ status: 'failed', iterations: 2, why: expect.stringContaining('Something broke.') },
    })
    expect(tasks['up-again']).toMatchObject({ status: 'merged', iterations: 2 })
    expect(prompt('up-again', 2)).toContain('Something broke.')
    for (const words of ['The request is not valid.', 'Something broke.']) expect(report).toContain(words)
  },
)

test('an agent that crashes is started once more and then parked with what it said', {
  timeout: 600_000,
}, async () => {
  const world = await createWorld({ otherwise: 'Hello.' })
  const starts = path.join(world.home, 'starts')
  const program = path.join(world.home, 'crashing-claude')
  writeFileSync(
    program,
    `#!/bin/sh\ncase "$*" in *--version*|*--help*) exec '${claudeBinary()}' "$@";; esac\necho "$*" >> '${starts}'\necho 'out of cheese' >&2\nexit 3\n`,
  )
  chmodSync(program, 0o755)
  const { tasks, report } = await runLoop(world, '---\nharness: claude-code\n---\n- [ ] Crash\n', program)
  expect(tasks.crash).toMatchObject({ status: 'parked', parked: 'harness', iterations: 1 })
  expect(tasks.crash?.why).toMatch(/exited with code 3[\s\S]*out of cheese/)
  expect(report).toContain('out of cheese')
  const started = readFileSync(starts, 'utf8').trimEnd().split('\n')
  expect(started).toHaveLength(2)
  // A turn that nobody watches has a stated number of rounds.
  for (const args of started) expect(args).toContain('--max-turns 100')
})

test('a denial is named, and parks a task that is not proved', {
  timeout: 600_000,
}, async () => {
  const world = await createWorld({
    routes: [
      route('Fetch it', [bash('curl -s http://127.0.0.1:9/'), 'I could not.']),
      route('Anyway', [bash('curl -s http://127.0.0.1:9/'), bash('echo any > any.txt')]),
    ],
    otherwise: 'A title.',
  })
  const policies = path.join(world.home, 'chirality', 'policies')
  mkdirSync(policies, { recursive: true, mode: 0o700 })
  writeFileSync(path.join(policies, 'global.policy'), 'deny Bash(curl *)\n', { mode: 0o600 })
  const { tasks, report } = await runLoop(
    world,
    '---\nharness: claude-code\n---\n- [ ] Fetch it\n- [ ] Anyway\n  checks: grep -q any any.txt\n',
  )
  expect(tasks['fetch-it']).toMatchObject({ status: 'parked', parked: 'permission', iterations: 1 })
  expect(tasks['fetch-it']?.why).toContain('curl')
  expect(tasks['fetch-it']?.why).toContain('deny Bash(curl *)')
  expect(tasks.anyway).toMatchObject({ status: 'merged', iterations: 1 })
  expect(report.match(/deny Bash\(curl \*\)/g)).toHaveLength(2)
  expect(existsSync(path.join(world.project, 'any.txt'))).toBe(false)
})

test('with park_on_denial false the next prompt says what was denied; with fresh each attempt has its own session', {
  timeout: 600_000,
}, async () => {
  const world = await createWorld({
    routes: [
      {
        when: { lastUserContains: 'What you were not allowed' },
        answers: [bash('echo page > page.txt')],
        otherwise: 'I am done.',
      },
      route('Fetch it', [bash('curl -s http://127.0.0.1:9/'), 'I could not.']),
    ],
    otherwise: 'I am done.',
  })
  const policies = path.join(world.home, 'chirality', 'policies')
  mkdirSync(policies, { recursive: true, mode: 0o700 })
  writeFileSync(path.join(policies, 'global.policy'), 'deny Bash(curl *)\n', { mode: 0o600 })
  const { tasks, prompt, state } = await runLoop(
    world,
    '---\nharness: claude-code\nfresh: true\npark_on_denial: false\nbudget_usd: 50\n---\n- [ ] Fetch it\n  budget_usd: 20\n  checks: test -f page.txt\n',
  )
  expect(prompt('fetch-it', 2)).toContain('deny Bash(curl *)')
  expect(tasks['fetch-it']).toMatchObject({ status: 'merged', iterations: 2 })
  const task = state.tasks.get('fetch-it')
  expect(task?.earlier).toHaveLength(1)
  expect(task?.earlier?.[0]?.sessionId).not.toBe(task?.sessionId)
  // Of both sessions together.
  expect(tasks['fetch-it']?.spent?.usd).toBeCloseTo(
    (task?.spent.usd ?? 0) + (task?.earlier?.[0]?.spent.usd ?? 0),
  )
})
