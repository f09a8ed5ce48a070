import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { axeViolations } from '../support/axe.ts'
import type { CannedApi, LooseEvent } from '../support/canned-api.ts'
import { PHONE, useDashboard } from '../support/page.ts'

const dashboard = useDashboard()

function aTalkWithNeedles(api: CannedApi): void {
  api.add({ lastTurn: 'completed' })
  const filler = (turn: number) => `Turn ${turn}. ${'Nothing of note here.\n\n'.repeat(30)}`
  for (let turn = 1; turn <= 4; turn++) {
    const output = Array.from({ length: 60 }, (_, i) => `line ${i} of ${turn}`).join('\n')
    api.push(
      's1',
      [
        { type: 'turn:start', message: `Question ${turn}` },
        { type: 'chat:message', messageId: `m${turn}`, text: filler(turn) },
        { type: 'tool:start', toolUseId: `u${turn}`, name: 'Bash', input: { command: `cat ${turn}.log` } },
        {
          type: 'tool:result',
          toolUseId: `u${turn}`,
          content: turn === 2 ? `${output}\n\u001b[31mhay\u001b[0mstack\n${output}` : output,
          isError: false,
        },
        { type: 'tool:start', toolUseId: `w${turn}`, name: 'Bash', input: { command: 'true' } },
        { type: 'tool:result', toolUseId: `w${turn}`, content: '', isError: false },
        { type: 'chat:message', messageId: `n${turn}`, text: turn === 3 ? 'A **hay**stack, it is.' : 'So.' },
        { type: 'turn:end', reason: 'completed' },
      ],
      `t${turn}`,
    )
  }
}

/** What is marked, and what of it is the one that the search is at. */
function marksOf(page: Page): Promise<{ all: string[]; here: { text: string; isSeen: boolean } | null }> {
  return page.evaluate(() => {
    const rangesOf = (name: string) => [...(CSS.highlights.get(name)?.values() ?? [])] as Range[]
    const [current] = rangesOf('found-here')
    const scroller = document.querySelector('.chat__scroll')?.getBoundingClientRect()
    const box = current?.getBoundingClientRect()
    return {
      all: rangesOf('found').map(String),
      here: current
        ? {
            text: String(current),
            isSeen: !!box && !!scroller && box.top > scroller.top && box.bottom < scroller.bottom,
          }
        : null,
    }
  })
}

test('find in conversation by keys: what is folded opens, each match is marked and brought into view, Esc leaves', async () => {
  const { page, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aTalkWithNeedles })
  await page.getByText('Question 4', { exact: true }).waitFor({ state: 'attached' })
  await page.keyboard.press('Control+f')
  const field = page.getByRole('textbox', { name: 'Find in conversation' })
  await page.keyboard.type('haystack')
  const bar = page.getByRole('search', { name: 'Find in conversation' })
  await bar.getByText('2 of 2').waitFor()
  await bar.getByText('All messages, tool calls and their output').waitFor()
  const seen = { text: 'haystack', isSeen: true }
  await expect.poll(async () => (await marksOf(page)).here).toEqual(seen)

  // The other one is in the output of a command, inside a group, both folded; it is far down in it.
  await page.keyboard.press('Enter')
  await bar.getByText('1 of 2').waitFor()
  await page.getByRole('article', { name: /^Ran cat 2\.log/ }).waitFor()
  await expect.poll(async () => (await marksOf(page)).here).toEqual(seen)
  await page.keyboard.press('Shift+Enter')
  await bar.getByText('2 of 2').waitFor()
  await expect.poll(async () => (await marksOf(page)).here).toEqual(seen)
  expect(await axeViolations(page)).toEqual([])

  await field.fill('no such word')
  await bar.getByText('No match').waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => bar.count()).toBe(0)
  expect((await marksOf(page)).here).toBeNull()
  // The keys are those of the page again.
  await page.keyboard.press('/')
  await field.waitFor()
  expect(await field.inputValue()).toBe('')
  expect(complaints).toEqual([])
  await close()
})

test('find in conversation loads what is not there yet of a long one, and says so until then', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    ...PHONE,
    scene: canned => {
      canned.add({})
      for (let turn = 1; turn <= 700; turn++) {
        canned.push(
          's1',
          [
            { type: 'turn:start', message: `Question ${turn}` },
            { type: 'chat:message', messageId: `m${turn}`, text: turn === 2 ? 'A needle.' : 'So.' },
            { type: 'turn:end', reason: 'completed' },
          ],
          `t${turn}`,
        )
      }
      canned.add({ lastSeq: 2100 })
      canned.holdLogs()
    },
  })
  await page.getByText('Question 700', { exact: true }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('needle')
  const bar = page.getByRole('search', { name: 'Find in conversation' })
  await bar.getByText('The latest part; the earlier one is being loaded').waitFor()
  await bar.getByText('No match yet').waitFor()
  api.releaseLogs()
  await bar.getByText('1 of 1').waitFor()
  await expect.poll(async () => (await marksOf(page)).here).toEqual({ text: 'needle', isSeen: true })
  const box = await bar.boundingBox()
  expect(box && box.x >= 0 && box.x + box.width <= 390).toBe(true)
  expect(await axeViolations(page)).toEqual([])
  await close()
})

test('contents: the turns by what was asked, the one in view marked, gone to by keys; a sheet on a phone', async () => {
  const { page, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aTalkWithNeedles })
  await page.getByText('Question 4', { exact: true }).waitFor({ state: 'attached' })
  await page.keyboard.press('t')
  const contents = page.getByRole('dialog', { name: 'Contents' })
  await contents.getByText('4 turns').waitFor()
  const marked = contents.locator('[aria-current]')
  expect(await marked.count()).toBe(1)
  await expect.poll(() => marked.evaluate(element => element === document.activeElement)).toBe(true)
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await expect.poll(() => contents.count()).toBe(0)
  const chat = page.getByRole('region', { name: 'Conversation' })
  const asked = chat.getByText('Question 2', { exact: true })
  await expect
    .poll(async () => ((await asked.boundingBox())?.y ?? 900) - ((await chat.boundingBox())?.y ?? 0))
    .toBeLessThan(80)
  await page.getByRole('button', { name: 'Contents' }).click()
  await expect.poll(() => marked.textContent()).toContain('Question 2')
  expect(await axeViolations(page)).toEqual([])
  await contents.getByRole('button', { name: /^Find in conversation/ }).click()
  await page.keyboard.type('haystack')
  await page.getByRole('search').getByText('of 2').waitFor()
  expect(complaints).toEqual([])
  await close()

  const phone = await dashboard.open({
    path: '/s/s1',
    scene: aTalkWithNeedles,
    ...PHONE,
    colorScheme: 'dark',
  })
  await phone.page.getByRole('button', { name: 'Contents' }).tap()
  const sheet = phone.page.getByRole('dialog', { name: 'Contents' })
  await sheet.getByText('4 turns').waitFor()
  expect(await sheet.evaluate(element => element.getBoundingClientRect().width)).toBe(390)
  expect(await axeViolations(phone.page)).toEqual([])
  await sheet.getByRole('button', { name: /Question 1/ }).tap()
  await phone.page
    .getByRole('region', { name: 'Conversation' })
    .getByText('Question 1', { exact: true })
    .waitFor()
  expect(await sheet.count()).toBe(0)
  await phone.close()
})

function aLongOutput(api: CannedApi): void {
  api.add({ lastTurn: 'completed' })
  const lines = Array.from({ length: 5000 }, (_, i) => `\u001b[3${i % 8}mline ${i + 1}\u001b[0m of it`)
  lines[1999] = 'the \u001b[31mneed\u001b[0mle'
  api.push('s1', [
    { type: 'turn:start', message: 'go' },
    { type: 'tool:start', toolUseId: 'c', name: 'Bash', input: { command: 'npm run everything' } },
    { type: 'tool:result', toolUseId: 'c', content: lines.join('\n'), isError: false },
    { type: 'chat:message', messageId: 'm', text: 'One more.' },
    { type: 'tool:start', toolUseId: 'd', name: 'Bash', input: { command: 'cat big.log' } },
    { type: 'tool:result', toolUseId: 'd', content: 'begin\n[52341 bytes left out]\nend', isError: false },
    { type: 'turn:end', reason: 'completed' },
  ])
}

test('the output of a command as a terminal shows it: whole, in colours, searched by keys; one that the agent cut says so', async () => {
  const { page, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aLongOutput })
  await page.getByRole('button', { name: /^Ran npm run everything/ }).click()
  await page.getByRole('button', { name: 'Show all of the output' }).click()
  const output = page.getByRole('dialog', { name: 'Output' })
  await output.getByText('5000 lines').waitFor()
  // Its end is where it says what went wrong.
  await output.getByText('line 5000 of it').waitFor()
  await output.locator('.ansi-fg-green').first().waitFor()
  await page.keyboard.type('needle')
  await page.keyboard.press('Enter')
  await output.getByText('1 of 1').waitFor()
  const mark = output.locator('.output__mark--here')
  await expect.poll(() => mark.allTextContents()).toEqual(['need', 'le'])
  await expect.poll(() => mark.first().evaluate(isSeen)).toBe(true)
  expect(await axeViolations(page)).toEqual([])
  // Escape leaves the search, and then the output.
  await page.keyboard.press('Escape')
  await expect.poll(() => output.locator('.output__mark').count()).toBe(0)
  await page.keyboard.press('Escape')
  await expect.poll(() => output.count()).toBe(0)
  expect(complaints).toEqual([])
  await close()

  const phone = await dashboard.open({ path: '/s/s1', scene: aLongOutput, ...PHONE, colorScheme: 'dark' })
  await phone.page.getByRole('button', { name: /^Ran cat big\.log/ }).tap()
  await phone.page.getByText('shortened by the agent: [52341 bytes left out]').waitFor()
  await phone.page.getByRole('button', { name: 'Show all of the output' }).tap()
  const sheet = phone.page.getByRole('dialog', { name: 'Output' })
  await sheet.getByText('The agent kept only a part of this output').waitFor()
  expect(await sheet.evaluate(element => element.scrollWidth - element.clientWidth)).toBe(0)
  expect(await axeViolations(phone.page)).toEqual([])
  await phone.close()
})

function isSeen(element: Element): boolean {
  const { left, top } = element.getBoundingClientRect()
  return (
    document.elementFromPoint(left + 1, top + 3)?.closest('.output__row') === element.closest('.output__row')
  )
}

test('while a conversation is on its way its shape is shown; nothing of it is left when it is there', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    ...PHONE,
    scene: canned => {
      aTalkWithNeedles(canned)
      canned.add({ lastSeq: 32 })
      canned.holdLogs()
    },
  })
  const shape = page.getByRole('status', { name: 'The conversation is being loaded' })
  await shape.waitFor()
  expect(await page.getByText('Nothing here yet').count()).toBe(0)
  expect(await axeViolations(page)).toEqual([])
  api.releaseLogs()
  await page.getByText('Question 4', { exact: true }).waitFor({ state: 'attached' })
  expect(await shape.count()).toBe(0)
  await close()
})

test('a call says its own time and what it waited for a person; a sub-agent its steps, its time and what it used', async () => {
  const { page, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ lastTurn: 'completed' })
      const agent = { toolUseId: 'a', name: 'Agent', input: { description: 'Look at the routes' } }
      const usage = { input_tokens: 1_000_000, output_tokens: 0 }
      const detail = { status: 'completed', totalTokens: 2116 }
      canned.push('s1', [
        { type: 'turn:start', message: 'go' },
        { type: 'tool:start', toolUseId: 'c', name: 'Bash', input: { command: 'npm test' } },
        { ...asked('c'), requestId: 'r1' },
        ...Array.from({ length: 5 }, () => ({
          type: 'usage' as const,
          usage: { input_tokens: 1, output_tokens: 1 },
        })),
        { type: 'permission:resolved', requestId: 'r1', outcome: 'allowed', by: 'person' },
        { type: 'tool:result', toolUseId: 'c', content: 'ok', isError: false },
        { type: 'tool:start', ...agent },
        {
          type: 'tool:start',
          toolUseId: 'ar',
          name: 'Read',
          input: { file_path: 'a.ts' },
          parentToolUseId: 'a',
        },
        { type: 'usage', usage, estimateUsd: 0.25, parentToolUseId: 'a' },
        { type: 'usage', usage, estimateUsd: 0.5, parentToolUseId: 'a' },
        { type: 'tool:result', toolUseId: 'ar', content: 'x', isError: false, parentToolUseId: 'a' },
        { type: 'tool:result', toolUseId: 'a', content: 'Done.', isError: false, detail },
        { type: 'tool:start', ...agent, toolUseId: 'b' },
        { type: 'tool:result', toolUseId: 'b', content: 'Done.', isError: false, detail },
        { type: 'turn:end', reason: 'completed' },
      ])
    },
  })
  // An event of the canned log is 400 ms after the one before it.
  const facts = (name: RegExp) => page.getByRole('button', { name }).locator('.tool__facts')
  await expect.poll(() => facts(/^Ran npm test/).textContent()).toBe('waited 2.4 s400 ms')
  const agents = facts(/^Agent Look at the routes/)
  expect(await agents.first().textContent()).toBe('1 step≈ $0.752.0 s')
  expect(await agents.last().textContent()).toBe('2.1k tokens400 ms')
  await close()
})

function asked(toolUseId: string): LooseEvent & { type: 'permission:request' } {
  const input = { command: 'npm test' }
  return {
    type: 'permission:request',
    requestId: 'r1',
    kind: 'tool',
    toolName: 'Bash',
    input,
    toolUseId,
    raw: {},
  }
}

test('an error says its cause, what mends it for the key in use, and retries; actions of a message lie beside its words', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ lastTurn: 'failed' })
      canned.push('s1', [
        { type: 'turn:start', message: 'Mend the test.' },
        { type: 'chat:message', messageId: 'm', text: `${'Many words in one line. '.repeat(20)}` },
        {
          ...{ type: 'session:error', error: 'invalid x-api-key', code: 'auth_failed' },
          credential: 'ANTHROPIC_API_KEY',
        },
        { type: 'turn:end', reason: 'failed' },
      ])
    },
  })
  const error = page.getByRole('alert').filter({ hasText: 'invalid x-api-key' })
  await error.getByText('The key in ANTHROPIC_API_KEY was refused').waitFor()
  expect(await axeViolations(page)).toEqual([])
  for (const name of ['You', 'Agent']) {
    const message = page.getByRole('article', { name })
    await message.hover()
    const actions = await message.locator('.message-actions').boundingBox()
    const words = await message.locator(name === 'You' ? '.you__text' : '.markdown').boundingBox()
    expect(
      actions && words && (actions.x + actions.width <= words.x || actions.x >= words.x + words.width),
    ).toBe(true)
  }
  await error.getByRole('button', { name: 'Retry' }).click()
  await expect
    .poll(() => api.called('turns.send'))
    .toEqual([{ sessionId: 's1', message: 'Mend the test.', options: { retryOfTurnId: 't1' } }])
  expect(complaints).toEqual([])
  await close()
})
