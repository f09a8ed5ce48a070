import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { LoopBook, readReceipt } from '@chirality/loops'
import type { Script, ScriptAnswer } from '@chirality/scripted-model'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../src/index.ts'
import { createWorld } from './support/agents.ts'
import { connect } from './support/trpc-client.ts'

const SLOW = { timeout: 240_000, interval: 100 }
const HOUR_S = 3600

test('a loop at a limit of the plan waits as often as it may, ends, or hands its tasks over; an agent that hangs is ended', {
  timeout: 900_000,
}, async () => {
  const resetAt = Math.floor(Date.now() / 1000) + 2 * HOUR_S
  const nextResetAt = resetAt + 5 * HOUR_S
  const time = (seconds: number) => new Date(seconds * 1000).toISOString()
  const limited = (seconds: number) => ({
    error: {
      ...{ status: 429, type: 'usage_limit_reached', message: 'The usage limit has been reached' },
      headers: {
        'x-codex-primary-used-percent': '100',
        'x-codex-primary-window-minutes': '300',
        'x-codex-primary-reset-at': String(seconds),
      },
    },
  })
  const made = { toolResultContains: 'made it' }
  const make = (name: string) => ({
    ...{ when: { conversationContains: `## Task\n\nMake ${name}`, api: 'messages' as const }, answers: [] },
    otherwise: { tool: 'bash', input: { command: `echo ${name} > ${name}.txt; echo made it` } },
  })
  const world = await createWorld({
    routes: [
      { when: made, answers: [], otherwise: 'I am done.' },
      { when: { lastUserContains: 'Hang here' }, answers: [], otherwise: { text: 'Never.', stallAfter: 0 } },
      { when: { api: 'responses' }, answers: [limited(resetAt)], otherwise: limited(nextResetAt) },
      ...[make('one'), make('two')],
    ],
    otherwise: 'A title.',
  })
  const { project, home } = world
  const repository = initRepository(project)
  const check = (name: string) => `- [ ] Make ${name}\n  checks: grep -q ${name} ${name}.txt\n`
  repository.write('TASKS.md', `---\nharness: codex\nwait_for_limits: 1\n---\n${check('one')}${check('two')}`)
  repository.write(
    'HANG.md',
    '---\nharness: codex\nmax_attempts: 1\niteration_minutes: 0.1\n---\n- [ ] Hang here\n',
  )
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  const start = async () => {
    const server = await startServer({
      ...{ harnesses: world.harnesses(), projects: [project], port: 0, home: path.join(home, 'chirality') },
    })
    onTestFinished(() => server.close())
    return { server, loops: connect(server).client.loops }
  }
  const turns = () => world.model.requests.filter(({ path: place }) => place.endsWith('/responses')).length

  const first = await start()
  const { loopId } = await first.loops.start.mutate({ project, list: 'TASKS.md' })
  await expect
    .poll(async () => (await first.loops.get.query({ loopId })).waitsUntil, { ...SLOW, message: 'no wait' })
    .toBe(time(resetAt))
  const asked = turns()
  await first.server.close()

  // The next server waits for the same time, without asking the agent again.
  const { loops } = await start()
  const shown = () => loops.get.query({ loopId })
  await expect.poll(async () => (await shown()).runs, SLOW).toBe('here')
  expect(await shown()).toMatchObject({ waitsUntil: time(resetAt), limits: { waits: 1, waitForLimits: 1 } })
  await loops.stop.mutate({ loopId })
  expect(turns()).toBe(asked)

  // A person who goes on with it is believed: the agent is asked once more. It may not wait for a second window.
  await loops.resume.mutate({ loopId })
  await expect.poll(async () => (await shown()).end?.reason, SLOW).toBe('rate-limit')
  expect(turns()).toBeGreaterThan(asked)
  expect((await shown()).end?.why).toContain('It has waited 1×, as often as it may; with "hand_over"')
  expect((await shown()).tasks[0]).toMatchObject({ status: 'working', handed: [] })

  const limits = { handOver: true, nextHarnesses: ['nobody', 'messages-api'] }
  await loops.resume.mutate({ loopId, limits })
  await expect.poll(async () => (await shown()).end?.reason, SLOW).toBe('done')
  const beforeSecond = turns()
  const handed = [{ from: 'codex', to: 'messages-api', why: expect.stringContaining(time(nextResetAt)) }]
  const proved = { status: 'merged', harness: 'messages-api', handed }
  expect((await shown()).tasks).toMatchObject([
    { id: 'make-one', iterations: 4, ...proved },
    // Known to be at its limit: Codex was not even asked.
    { id: 'make-two', iterations: 1, ...proved },
  ])
  expect(turns()).toBe(beforeSecond)
  const book = new LoopBook(project, path.join(home, 'chirality'))
  const folder = book.folder(loopId)
  const receipt = await readReceipt(path.join(folder, 'receipts', 'make-one.json'))
  expect(receipt).toMatchObject({ harness: 'messages-api', handed, sessions: [{}, {}] })
  expect((await book.entries(loopId)).filter(({ type }) => type === 'loop:wait')).toHaveLength(1)
  const { markdown } = await loops.report.query({ loopId })
  expect(markdown).toContain('Handed from codex to messages-api')

  const hanging = await loops.start.mutate({ project, list: 'HANG.md', allowDirty: true })
  await expect
    .poll(async () => (await loops.get.query({ loopId: hanging.loopId })).end?.reason, SLOW)
    .toBe('blocked')
  const { tasks } = await loops.get.query({ loopId: hanging.loopId })
  expect(tasks).toMatchObject([{ status: 'failed', iterations: 1, why: expect.stringContaining('timeout') }])
  const worktree = tasks[0]?.worktreeId ?? 'none'
  expect(processesIn(worktree)).toEqual([])
})

const SUBSCRIPTION = { ANTHROPIC_API_KEY: undefined, CLAUDE_CODE_OAUTH_TOKEN: 'scripted-oauth-token' }
/** Claude Code is refused in both of its turns. The agent that takes the task over is heard, and makes it. */
const refusedTwice = (limited: ScriptAnswer) => [
  { when: { toolResultContains: 'made it' }, answers: [], otherwise: 'I am done.' },
  {
    when: { lastUserContains: '## Task\n\nMake one' },
    answers: [limited, limited],
    otherwise: { tool: 'bash', input: { command: 'echo one > one.txt; echo made it' } },
  },
]
const ONE = '- [ ] Make one\n  checks: grep -q one one.txt\n'

/** A server with Claude Code whose model answers as the routes say, and task lists that are committed. */
async function claudeWorld(
  routes: NonNullable<Script['routes']>,
  lists: Record<string, string>,
  login: Record<string, string | undefined> = {},
) {
  const world = await createWorld({ routes, otherwise: 'A title.' }, login)
  const { project, home } = world
  const repository = initRepository(project)
  for (const [name, text] of Object.entries(lists)) repository.write(name, text)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  const start = async () => {
    const server = await startServer({
      ...{ harnesses: world.harnesses(), projects: [project], port: 0, home: path.join(home, 'chirality') },
    })
    onTestFinished(() => server.close())
    return { server, loops: connect(server).client.loops }
  }
  /** How often the model was asked by Claude Code. */
  const turns = () => world.model.requests.filter(({ path: place }) => place.includes('/messages')).length
  return { project, start, turns }
}

test('Claude Code with a subscription: the loop waits for the time that it states, also after a restart, and hands over', {
  timeout: 900_000,
}, async () => {
  const resetAt = Math.floor(Date.now() / 1000) + 2 * HOUR_S
  const limited = {
    error: {
      status: 429,
      headers: {
        'anthropic-ratelimit-unified-status': 'rejected',
        'anthropic-ratelimit-unified-reset': String(resetAt),
        'anthropic-ratelimit-unified-representative-claim': 'five_hour',
        'anthropic-ratelimit-unified-overage-status': 'rejected',
        'anthropic-ratelimit-unified-overage-disabled-reason': 'org_level_disabled',
      },
    },
  }
  const { project, start, turns } = await claudeWorld(
    refusedTwice(limited),
    { 'TASKS.md': `---\nharness: claude-code\nwait_for_limits: 1\n---\n${ONE}` },
    SUBSCRIPTION,
  )
  const time = new Date(resetAt * 1000).toISOString()
  const first = await start()
  const { loopId } = await first.loops.start.mutate({ project, list: 'TASKS.md' })
  await expect
    .poll(async () => (await first.loops.get.query({ loopId })).waitsUntil, { ...SLOW, message: 'no wait' })
    .toBe(time)
  const asked = turns()
  await first.server.close()
  const { loops } = await start()
  const shown = () => loops.get.query({ loopId })
  await expect.poll(async () => (await shown()).runs, SLOW).toBe('here')
  expect(await shown()).toMatchObject({ waitsUntil: time, limits: { waits: 1 } })
  await loops.stop.mutate({ loopId })
  expect(turns()).toBe(asked)
  await loops.resume.mutate({ loopId, limits: { handOver: true, nextHarnesses: ['messages-api'] } })
  await expect.poll(async () => (await shown()).end?.reason, SLOW).toBe('done')
  expect((await shown()).tasks).toMatchObject([
    {
      ...{ status: 'merged', harness: 'messages-api' },
      handed: [{ from: 'claude-code', to: 'messages-api', why: expect.stringContaining(time) }],
    },
  ])
})

test('Claude Code with a key states no reset time: the loop ends instead of waiting, or hands over; a turn that hangs is ended', {
  timeout: 900_000,
}, async () => {
  const limited = {
    error: {
      ...{ status: 429, type: 'rate_limit_error', message: 'Too many requests' },
      // As the API says that another try is of no use.
      headers: { 'x-should-retry': 'false' },
    },
  }
  const { project, start } = await claudeWorld(
    [
      { when: { lastUserContains: 'Hang here' }, answers: [], otherwise: { text: 'Never.', stallAfter: 0 } },
      ...refusedTwice(limited),
    ],
    {
      'TASKS.md': `---\nharness: claude-code\nwait_for_limits: 3\n---\n${ONE}`,
      'HANG.md': '---\nharness: claude-code\nmax_attempts: 1\niteration_minutes: 0.2\n---\n- [ ] Hang here\n',
    },
  )
  const { loops } = await start()
  const { loopId } = await loops.start.mutate({ project, list: 'TASKS.md' })
  const shown = () => loops.get.query({ loopId })
  await expect.poll(async () => (await shown()).end?.reason, SLOW).toBe('rate-limit')
  expect(await shown()).toMatchObject({
    ...{ waitsUntil: null, limits: { waits: 0 } },
    end: { why: expect.stringContaining('does not say when it is reset') },
    // No attempt: the agent had no chance.
    tasks: [{ status: 'working', iterations: 1 }],
  })
  await loops.resume.mutate({ loopId, limits: { handOver: true, nextHarnesses: ['messages-api'] } })
  await expect.poll(async () => (await shown()).end?.reason, SLOW).toBe('done')
  expect((await shown()).tasks).toMatchObject([{ status: 'merged', handed: [{ to: 'messages-api' }] }])

  const hanging = await loops.start.mutate({ project, list: 'HANG.md', allowDirty: true })
  const hung = () => loops.get.query({ loopId: hanging.loopId })
  await expect.poll(async () => (await hung()).end?.reason, SLOW).toBe('blocked')
  const { tasks } = await hung()
  expect(tasks).toMatchObject([{ status: 'failed', iterations: 1, why: expect.stringContaining('timeout') }])
  expect(processesIn(tasks[0]?.worktreeId ?? 'none')).toEqual([])
})

/** Processes that work in a worktree. */
function processesIn(worktreeId: string): string[] {
  if (!existsSync('/proc/self/cwd')) return []
  return readdirSync('/proc').filter(pid => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`).includes(worktreeId)
    } catch {
      return false
    }
  })
}
