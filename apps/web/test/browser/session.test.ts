import { expect, test } from 'vitest'
import { axeViolations, axeViolationsInBothSchemes } from '../support/axe.ts'
import { cardWithKeys } from '../support/keys.ts'
import { useDashboard } from '../support/page.ts'
import { aBusyDay, TESTS_PASS } from '../support/scenes.ts'

const dashboard = useDashboard()

test('a session with a request: what happened, what is asked, what changed; answered with a key', async () => {
  const { page, api, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  await page.getByText('Run this command?').waitFor()
  expect(new URL(page.url()).hash).toBe('')
  await page.getByRole('group', { name: 'Changes in src/ndjson.test.ts' }).waitFor()
  expect(await page.title()).toBe('(2) Fix CRLF handling · Chirality')

  await cardWithKeys(page).waitFor()
  await page.keyboard.press('a')
  await expect
    .poll(() => api.called('decisions.answer'))
    .toEqual([{ sessionId: 's1', requestId: 'r1', decision: { behavior: 'allow' } }])
  api.push('s1', TESTS_PASS)
  api.setStatus('s1', { phase: 'idle', pending: [], lastTurn: 'completed', costUsd: 0.42 })
  await page.getByText('Fixed, and the test that was missing is there').waitFor()
  await page.getByText('1 needs you').waitFor()
  await page.getByRole('button', { name: /^Ran npm test/ }).click()
  await page.getByText('Allowed by you').waitFor()
  expect(await page.getByText('Run this command?').count()).toBe(0)
  expect(complaints).toEqual([])
  await close()
})

test('text streams into the page as it comes, and code gets its colours when it is whole', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ phase: 'running' }),
  })
  api.push('s1', [{ type: 'turn:start', message: 'go' }])
  for (const text of ['# Hel', 'lo\n\nSome **bo', 'ld** text\n\n```ts\nconst a', ' = 1\n```\n']) {
    api.push('s1', [{ type: 'chat:delta', messageId: 'm', text }])
  }
  await page.getByRole('heading', { name: 'Hello' }).waitFor()
  await page.locator('strong', { hasText: 'bold' }).waitFor()
  api.push('s1', [
    {
      type: 'chat:message',
      messageId: 'm',
      text: '# Hello\n\nSome **bold** text\n\n```ts\nconst a = 1\n```\n',
    },
  ])
  await page.locator('.hl-keyword', { hasText: 'const' }).waitFor()
  expect(complaints).toEqual([])
  await close()
})

test('the conversation stays at its end while text comes, and lets go when the person scrolls', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ phase: 'running' }),
  })
  const lines = (n: number) => Array.from({ length: n }, (_, i) => `paragraph ${i}\n\n`).join('')
  api.push('s1', [
    { type: 'turn:start', message: 'go' },
    { type: 'chat:delta', messageId: 'm', text: lines(60) },
  ])
  const region = page.getByRole('region', { name: 'Conversation' })
  const fromEnd = () => region.evaluate(el => el.scrollHeight - el.scrollTop - el.clientHeight)
  await expect.poll(fromEnd).toBeLessThan(2)
  api.push('s1', [{ type: 'chat:delta', messageId: 'm', text: lines(60) }])
  await page.getByText('paragraph 59').nth(1).waitFor()
  await expect.poll(fromEnd).toBeLessThan(2)

  await region.evaluate(el => el.scrollBy(0, -600))
  await page.getByRole('button', { name: 'Latest' }).waitFor()
  const before = await region.evaluate(el => el.scrollTop)
  api.push('s1', [{ type: 'chat:delta', messageId: 'm', text: `${lines(40)}the very end` }])
  await page.getByText('the very end').waitFor({ state: 'attached' })
  expect(await region.evaluate(el => el.scrollTop)).toBe(before)
  await page.getByRole('button', { name: 'Latest' }).click()
  await expect.poll(fromEnd).toBeLessThan(2)
  await close()
})

test('from turn to turn, by button and by key; an address leads to a turn', async () => {
  const { page, close } = await dashboard.open({
    path: '/s/s1/t/t2',
    scene: canned => {
      canned.add({ lastTurn: 'completed' })
      for (const turn of ['t1', 't2', 't3'])
        canned.push(
          's1',
          [
            { type: 'turn:start', message: `question of ${turn}` },
            { type: 'chat:message', messageId: turn, text: `${'line\n\n'.repeat(60)}answer of ${turn}` },
            { type: 'turn:end', reason: 'completed' },
          ],
          turn,
        )
    },
  })
  const isAtTop = async (text: string) => {
    const said = page.getByText(text, { exact: true })
    if ((await said.count()) === 0) return false
    const chat = await page.getByRole('region', { name: 'Conversation' }).boundingBox()
    const y = ((await said.boundingBox())?.y ?? 0) - (chat?.y ?? 0)
    return y >= 0 && y < 80
  }
  await expect.poll(() => isAtTop('question of t2')).toBe(true)
  await page.getByRole('button', { name: 'Next turn' }).click()
  await expect.poll(() => isAtTop('question of t3')).toBe(true)
  await page.keyboard.press('[')
  await expect.poll(() => isAtTop('question of t2')).toBe(true)
  await page.getByRole('button', { name: 'Previous turn' }).click()
  await expect.poll(() => isAtTop('question of t1')).toBe(true)
  await close()
})

test('a turn that reached its limit of steps goes on at a click, once', async () => {
  const { page, api, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  await page.getByText('Run this command?').waitFor()
  const end = TESTS_PASS.map(event =>
    event.type === 'turn:end' ? { ...event, reason: 'max_turns' as const } : event,
  )
  api.push('s1', end)
  api.setStatus('s1', { phase: 'idle', pending: [], lastTurn: 'max_turns' })
  await page.getByText('step limit reached').first().waitFor()
  await page.getByRole('button', { name: 'Go on', exact: true }).click()
  await expect
    .poll(() => api.called('turns.send'))
    .toEqual([{ sessionId: 's1', message: 'Go on.', options: {} }])
  await close()
})

test('a lost connection is said, and what was missed comes by itself', async () => {
  const { page, api, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  await page.getByText('Run this command?').waitFor()
  await api.cutConnections()
  await page.getByRole('alert').filter({ hasText: 'No connection' }).waitFor()
  api.push('s1', TESTS_PASS)
  api.restore()
  await page.getByText('Fixed, and the test that was missing is there').waitFor()
  await page.getByText('Connected', { exact: true }).waitFor()
  expect(await page.getByText('look at the two callers first').count()).toBe(1)
  await close()
})

test('a server that was started anew sends one to its new link', async () => {
  const { page, api, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  await page.getByText('Run this command?').waitFor()
  await api.cutConnections(4401)
  await page.getByText('The server was started anew').waitFor()
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
  await close()
})

test('nothing that axe finds, light and dark', { timeout: 300_000 }, async () => {
  const { page, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  await page.getByText('Run this command?').waitFor()
  expect(await axeViolationsInBothSchemes(page)).toEqual([])
  for (const tab of ['Activity', 'Files', 'Raw', 'Persona']) {
    await page.getByRole('tab', { name: tab }).click()
    await page.getByRole('tabpanel', { name: tab }).locator('> *').first().waitFor()
    expect(await axeViolationsInBothSchemes(page)).toEqual([])
  }
  for (const path of ['/', '/fleet']) {
    await page.goto(new URL(path, page.url()).href)
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await axeViolationsInBothSchemes(page)).toEqual([])
  }
  await close()
})

test('what a command had printed is still there when it was stopped', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ phase: 'running' }),
  })
  api.push('s1', [
    { type: 'turn:start', message: 'go' },
    { type: 'tool:start', toolUseId: 'c', name: 'Bash', input: { command: 'npm test' } },
    {
      ...{ type: 'status', status: 'tool_progress', level: 'info', message: '', toolUseId: 'c' },
      data: { output: 'ok 1\nnot ok 2\n' },
    },
  ])
  await page.getByText('not ok 2').waitFor()
  api.push('s1', [
    { type: 'tool:result', toolUseId: 'c', content: 'No result: the turn ended.', isError: true },
    { type: 'turn:end', reason: 'interrupted' },
  ])
  await page.getByText('No result: the turn ended.').waitFor()
  await page.getByRole('group', { name: 'Printed before' }).getByText('not ok 2').waitFor()
  await page.keyboard.press('1')
  await page.getByRole('region', { name: 'What it printed' }).getByText('not ok 2').waitFor()
  await close()
})

test('a tab that is chosen moves no other, and shows no ring to a mouse', async () => {
  const { page, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  await page.getByRole('tab', { name: 'Changes 1' }).waitFor()
  const places = () =>
    page.getByRole('tab').evaluateAll(tabs => tabs.map(tab => Math.round(tab.getBoundingClientRect().x)))
  const before = await places()
  await page.getByRole('textbox', { name: 'Message' }).press('a')
  for (const name of ['Activity', 'Raw', 'Files']) {
    const tab = page.getByRole('tab', { name })
    await tab.click()
    await expect.poll(() => tab.getAttribute('aria-selected')).toBe('true')
    expect(await tab.evaluate(element => getComputedStyle(element).outlineStyle)).toBe('none')
    expect(await page.locator('.panel__body:focus-visible').count()).toBe(0)
    expect(await places()).toEqual(before)
  }
  await page.keyboard.press('ArrowRight')
  const chosen = page.getByRole('tab', { selected: true })
  await expect.poll(() => chosen.evaluate(element => getComputedStyle(element).outlineStyle)).toBe('solid')
  await close()
})

test('words in tables stay whole, headings differ, and columns are aligned as written', async () => {
  const { page, api, close } = await dashboard.open({ path: '/s/s1', scene: canned => canned.add({}) })
  const table =
    '| file | lines | coverage |\n|---|---:|---|\n| a-very-long-file-name-that-does-not-fit/into/the/column/really/at/all/because/it/is/long.ts | 1200 | 3 % |'
  api.push('s1', [
    { type: 'turn:start', message: 'go' },
    { type: 'chat:message', messageId: 'm', text: `# One\n\n## Two\n\n### Three\n\n${table}` },
  ])
  const cell = page.getByRole('cell', { name: '1200' })
  await cell.waitFor()
  expect(await cell.evaluate(element => getComputedStyle(element).textAlign)).toBe('right')
  const heights = await page
    .locator('td, th')
    .evaluateAll(all => all.map(one => one.getClientRects()[0]?.height))
  expect(new Set(heights).size).toBeLessThanOrEqual(2)
  const oneLine = (await page.getByRole('columnheader', { name: 'file' }).boundingBox())?.height
  expect((await page.getByRole('columnheader', { name: 'coverage' }).boundingBox())?.height).toBe(oneLine)
  const sizes = await page
    .locator('.markdown :is(h3, h4, h5)')
    .evaluateAll(all => all.map(one => Number.parseFloat(getComputedStyle(one).fontSize)))
  expect(sizes).toEqual([...sizes].sort((a, b) => b - a))
  expect(new Set(sizes).size).toBe(3)
  await close()
})

test('a budget that stopped a turn says so in the conversation, and is raised there', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => canned.add({ lastTurn: 'budget', costUsd: 1.02, budgetUsd: 1 }),
  })
  const message = 'This session has spent $1.02 of $1.00, one call of the model more than allowed.'
  api.push('s1', [
    { type: 'turn:start', message: 'Read all of it.' },
    { type: 'budget', scope: 'session', spentUsd: 1.02, limitUsd: 1, exceeded: true, message },
    { type: 'turn:end', reason: 'budget', durationMs: 1000 },
  ])
  await page.getByRole('alert').getByText(message).waitFor()
  const amount = page.getByLabel('Budget of the session in dollars')
  const raise = page.getByRole('button', { name: 'Raise and go on' })
  expect(await amount.inputValue()).toBe('2')
  for (const tooLittle of ['1', '0.5', '']) {
    await amount.fill(tooLittle)
    expect(await raise.isDisabled(), tooLittle).toBe(true)
  }
  expect(await axeViolations(page)).toEqual([])
  api.faults.set('budgets.setSession', 'The server is being stopped.')
  await amount.fill('2.5')
  await raise.click()
  await page.getByText('The server is being stopped.').waitFor()
  api.faults.delete('budgets.setSession')
  await page.keyboard.press('Enter')
  await page.getByText('Raised. It goes on.').waitFor()
  await expect
    .poll(() => api.called('turns.send'))
    .toEqual([{ sessionId: 's1', message: 'Go on.', options: {} }])
  expect(api.called('budgets.setSession')).toContainEqual({ sessionId: 's1', budgetUsd: 2.5 })
  expect(complaints).toEqual([])
  await close()
})
