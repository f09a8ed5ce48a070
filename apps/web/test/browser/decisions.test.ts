import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { axeViolationsInBothSchemes } from '../support/axe.ts'
import type { CannedApi, LooseEvent } from '../support/canned-api.ts'
import { cardWithKeys } from '../support/keys.ts'
import { useDashboard } from '../support/page.ts'

const dashboard = useDashboard()

type Request = Extract<LooseEvent, { type: 'permission:request' }>

function asked(requestId: string, fields: Partial<Request> = {}): Request {
  const base = {
    type: 'permission:request',
    kind: 'tool',
    toolName: 'Bash',
    raw: { native: requestId },
  } as const
  return { ...base, requestId, input: { command: `run ${requestId}` }, ...fields }
}

function waiting(...requests: Request[]): (api: CannedApi) => void {
  return api => {
    const pending = requests.map(request => ({ ...request, sessionId: 's1' }))
    api.add({ phase: 'waiting', pending })
    api.push('s1', [{ type: 'turn:start', message: 'Go.' }, ...requests])
  }
}

/** What was answered, in order. */
function answers(api: CannedApi): unknown[] {
  return api.called('decisions.answer').map(input => {
    const { requestId, decision } = input as { requestId: string; decision: unknown }
    return [requestId, decision]
  })
}

const settle = (page: Page) =>
  page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))))

test('of ten that wait, a key answers the topmost that is seen, and only that one says so', async () => {
  const ids = Array.from({ length: 10 }, (_, i) => `r${i}`)
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: waiting(...ids.map(id => asked(id))),
  })
  await page.getByText('run r9', { exact: true }).waitFor()
  const hint = cardWithKeys(page)
  await hint.waitFor()
  expect(await hint.count()).toBe(1)
  const card = hint
  const [box, chat] = [await card.boundingBox(), await page.locator('.chat__scroll').boundingBox()]
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeGreaterThan(chat?.y ?? 0)
  const command = (await card.locator('pre').textContent()) ?? ''
  await page.keyboard.press('a')
  await expect.poll(() => answers(api)).toEqual([[command.slice('run '.length), { behavior: 'allow' }]])

  // Scrolled away from all of them, a key does nothing.
  api.push('s1', [
    { type: 'turn:end', reason: 'completed' },
    { type: 'turn:start', message: `${'line\n'.repeat(120)}the end` },
    asked('late'),
  ])
  await page.getByText('run late', { exact: true }).waitFor()
  await page.locator('.chat__scroll').evaluate(el => el.scrollBy(0, -1500))
  await page.getByRole('button', { name: 'Latest' }).waitFor()
  await settle(page)
  await page.keyboard.press('a')
  await page.keyboard.press('End')
  await hint.waitFor()
  expect(answers(api)).toHaveLength(1)
  expect(complaints).toEqual([])
  await close()
})

test('a plan by keys: comment, send back, go ahead', async () => {
  const plan = asked('p1', { kind: 'plan', toolName: 'ExitPlanMode', input: { plan: '1. Read\n2. Write' } })
  const { page, api, close } = await dashboard.open({ path: '/s/s1', scene: waiting(plan) })
  await cardWithKeys(page).waitFor()
  // Letters belong to a field that has the focus, and the card says so.
  await page.keyboard.press('i')
  await page.getByText('Esc, then a key').waitFor()
  await page.keyboard.press('Escape')
  await cardWithKeys(page).waitFor()
  await page.keyboard.press('e')
  await page.keyboard.type('Test first.')
  await page.keyboard.press('Control+Enter')
  await expect.poll(() => answers(api)).toEqual([['p1', { behavior: 'deny', message: 'Test first.' }]])
  api.push('s1', [
    { type: 'permission:resolved', requestId: 'p1', outcome: 'denied', by: 'person' },
    { ...plan, requestId: 'p2', input: { plan: '1. Prove\n2. Write' } },
  ])
  // The next plan, and not the answered one that is about to go, has to have the keys.
  await page.locator('.decision', { hasText: 'Prove' }).waitFor()
  await page.keyboard.press('Escape')
  await cardWithKeys(page).filter({ hasText: 'Prove' }).waitFor()
  await page.keyboard.press('a')
  await expect.poll(() => answers(api).at(-1)).toEqual(['p2', { behavior: 'allow' }])

  // What was answered opens as it was read: a list, not JSON.
  const call = { toolUseId: 'u1', name: 'ExitPlanMode', input: { plan: '1. Read\n2. Write' } }
  api.push('s1', [
    { type: 'tool:start', ...call },
    { type: 'permission:resolved', requestId: 'p2', outcome: 'allowed', by: 'person' },
    { type: 'tool:result', toolUseId: 'u1', content: 'User has approved your plan.', isError: false },
  ])
  await page.getByRole('button', { name: /^Plan/ }).click()
  const opened = page.getByRole('group', { name: 'Plan', exact: true })
  await expect.poll(() => opened.getByRole('listitem').allTextContents()).toEqual(['Read', 'Write'])

  // The third way: edits are not asked about from then on.
  api.push('s1', [{ ...plan, requestId: 'p3' }])
  await cardWithKeys(page).waitFor()
  await page.keyboard.press('Shift+A')
  await expect.poll(() => answers(api).at(-1)).toEqual(['p3', { behavior: 'allow' }])
  await expect
    .poll(() => api.called('turns.setPermissionMode'))
    .toEqual([{ sessionId: 's1', mode: 'acceptEdits' }])
  await close()
})

test('a question by keys: choose with the arrows, answer with Enter', async () => {
  const questions = [{ question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }]
  const question = asked('q1', { kind: 'question', toolName: 'AskUserQuestion', input: { questions } })
  const { page, api, close } = await dashboard.open({ path: '/s/s1', scene: waiting(question) })
  await page.getByText('E · Enter · D').waitFor()
  await page.keyboard.press('e')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  const updatedInput = { questions, answers: { 'Which colour?': 'Blue' } }
  await expect.poll(() => answers(api)).toEqual([['q1', { behavior: 'allow', updatedInput }]])
  await close()
})

test('a request of an unknown sort by keys: raw JSON, an answer of one’s own', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: waiting(asked('u1', { kind: 'unknown', toolName: 'future/ask', input: { a: 1 } })),
  })
  await page.getByText('"native": "u1"').waitFor()
  await page.getByText('A · E · D').waitFor()
  await page.keyboard.press('e')
  await page.getByRole('textbox', { name: 'Input, as JSON' }).fill('{ "a": 2 ')
  expect(await page.getByRole('button', { name: 'Allow this' }).isDisabled()).toBe(true)
  await page.keyboard.type('}')
  await page.keyboard.press('Control+Enter')
  await expect.poll(() => answers(api)).toEqual([['u1', { behavior: 'allow', updatedInput: { a: 2 } }]])
  await close()
})

test('what was begun is still there after a look at what was said before', async () => {
  const { page, close } = await dashboard.open({
    path: '/s/s1',
    scene: api => {
      api.add({ phase: 'waiting' })
      api.push('s1', [
        { type: 'turn:start', message: 'Go.' },
        ...Array.from(
          { length: 80 },
          (_, i): LooseEvent => ({ type: 'chat:message', messageId: `m${i}`, text: `text ${i}` }),
        ),
        asked('p1', { kind: 'plan', toolName: 'ExitPlanMode', input: { plan: '1. Read' } }),
      ])
    },
  })
  await page.getByRole('textbox', { name: 'Comments' }).fill('Half a thought')
  await page.keyboard.press('Escape')
  await page.keyboard.press('[')
  await page.getByText('text 0', { exact: true }).waitFor()
  expect(await page.getByRole('textbox', { name: 'Comments' }).count()).toBe(0)
  await page.keyboard.press('End')
  await expect.poll(() => page.getByRole('textbox', { name: 'Comments' }).inputValue()).toBe('Half a thought')
  await close()
})

test('the diff of a request has the line numbers of the file, and the lines around', async () => {
  const file = Array.from({ length: 30 }, (_, i) => `const n${i + 1} = ${i + 1}`).join('\n')
  const edit = { file_path: '/code/parser-kit/src/numbers.ts', old_string: '= 21', new_string: '= 210' }
  const { page, close } = await dashboard.open({
    path: '/s/s1',
    scene: api => {
      api.texts['src/numbers.ts'] = `${file}\n`
      waiting(asked('r1', { toolName: 'Edit', input: edit }))(api)
    },
  })
  const lines = page.getByRole('group', { name: 'Changes in' }).locator('.diff__line')
  await page.getByText('const n18 = 18').waitFor()
  expect(await lines.allTextContents()).toEqual([
    ...[
      '18 const n18 = 18',
      '19 const n19 = 19',
      '20 const n20 = 20',
      '21-const n21 = 21',
      '21+const n21 = 210',
    ],
    ...['22 const n22 = 22', '23 const n23 = 23', '24 const n24 = 24'],
  ])
  await close()
})

test('a card shows the rule of "always" word for word, and an error in the policy file as long as there is one', async () => {
  const rule = 'allow mcp__shop__refund({"amount":5,"order":"A1"})'
  const always = { rule, words: 'this tool with exactly this input' }
  const refund = { toolName: 'mcp__shop__refund', input: { order: 'A1', amount: 5 } }
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: waiting(asked('r1', { ...refund, always })),
  })
  const card = page.locator('.decision')
  await card.getByRole('button', { name: 'Always…' }).click()
  await card.getByText(`The rule is "${rule}": this tool with exactly this input.`).waitFor()
  await card.getByText('Take it back in Settings, Permissions.').waitFor()
  const problem = '/home/you/policies/a.policy:2: a rule begins with allow, ask or deny, not "alow".'
  expect(await card.getByText('the policy file has an error').count()).toBe(0)
  api.setStatus('s1', { policyProblem: problem })
  await card.getByText('No rule answered this: the policy file has an error.').waitFor()
  expect(await card.locator('.decision__problem pre').textContent()).toBe(problem)
  api.setStatus('s1', { policyProblem: null })
  await card.locator('.decision__problem').waitFor({ state: 'detached' })
  await card.getByRole('button', { name: 'Allow and remember' }).click()
  await expect.poll(() => answers(api)).toEqual([['r1', { behavior: 'allow', remember: 'always' }]])
  expect(complaints).toEqual([])
  await close()
})

test('a dangerous command: no key allows it, a held button does', async () => {
  const command = 'ls && rm -rf /var/cache/x'
  const words =
    'Deletes /var/cache/x with everything in it, outside the project. Going back to before this turn brings nothing back there.'
  const risks = [{ kind: 'delete' as const, part: 'rm -rf /var/cache/x', words }]
  const request = asked('d1', { input: { command }, risks })
  const { page, api, complaints, close } = await dashboard.open({ path: '/s/s1', scene: waiting(request) })
  await page.getByRole('heading', { name: 'This can delete files' }).waitFor()
  expect(await page.locator('mark').textContent()).toContain('rm -rf /var/cache/x')
  await page.getByText(words).waitFor()
  await page.getByText('E · D', { exact: true }).waitFor()
  await page.keyboard.press('a')
  await page.keyboard.press('Shift+A')
  expect(await axeViolationsInBothSchemes(page)).toEqual([])
  const hold = page.getByRole('button', { name: 'Hold to run it once' })
  await hold.click()
  expect(answers(api)).toEqual([])
  await hold.hover()
  await page.mouse.down()
  await expect.poll(() => answers(api)).toEqual([['d1', { behavior: 'allow' }]])
  await page.mouse.up()
  expect(complaints).toEqual([])
  await close()
})
