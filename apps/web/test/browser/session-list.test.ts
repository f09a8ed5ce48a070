import type { PermissionRequestEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { axeViolations } from '../support/axe.ts'
import { aHarness } from '../support/harnesses.ts'
import { useDashboard } from '../support/page.ts'

const dashboard = useDashboard()

test('keys lead to the message field and through the sessions, and the list follows', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      for (let i = 1; i <= 40; i++) {
        const updatedAt = new Date(Date.UTC(2026, 0, 1, 12, 0, 60 - i)).toISOString()
        canned.add({ sessionId: `s${i}`, title: `Session ${i}`, lastTurn: 'completed', updatedAt })
      }
    },
  })
  const title = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
  await title('Session 1')
  const skip = page.getByRole('button', { name: 'Skip to the message field' })
  expect(await skip.evaluate(element => element === document.querySelector('a[href], button, input'))).toBe(
    true,
  )
  await skip.focus()
  await page.keyboard.press('Enter')
  const field = page.getByRole('textbox', { name: 'Message' })
  await expect.poll(() => field.evaluate(element => element === document.activeElement)).toBe(true)
  await page.keyboard.press('Escape')

  await page.keyboard.press('j')
  await title('Session 2')
  await page.keyboard.press('k')
  await title('Session 1')
  for (let i = 2; i <= 30; i++) {
    await page.keyboard.press('j')
    await title(`Session ${i}`)
  }
  const row = page.locator('.session-row--on')
  await expect.poll(() => row.evaluate(element => element.getBoundingClientRect().bottom)).toBeLessThan(900)

  // What goes wrong in a session is said on its page.
  api.faults.set('turns.send', 'Raise the budget of the session.')
  await field.fill('go')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('Raise the budget').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('k')
  await title('Session 29')
  await page.getByText('Raise the budget').waitFor({ state: 'detached' })
  await page.keyboard.press('j')
  await page.getByRole('alert').getByText('Raise the budget').waitFor()
  await close()
})

test('a search leads to the message that it found, under the name of its session', async () => {
  const { page, close } = await dashboard.open({
    path: '/',
    scene: canned => {
      canned.add({ title: 'Count the callers', phase: 'running' })
      canned.push('s1', [
        { type: 'turn:start', message: 'Who calls total?' },
        ...Array.from({ length: 30 }, (_, i) => ({
          type: 'chat:message' as const,
          messageId: `m${i}`,
          text: `Line ${i}\n\n`.repeat(4),
        })),
        { type: 'chat:delta', messageId: 'found', text: 'There are **no' },
        { type: 'chat:message', messageId: 'found', text: 'There are **no callers** of `total`.' },
        ...Array.from({ length: 30 }, (_, i) => ({
          type: 'chat:message' as const,
          messageId: `n${i}`,
          text: `Later ${i}\n\n`.repeat(4),
        })),
      ])
      const snippet = '…There are **no callers** of `total`.'
      canned.hits = [{ sessionId: 's1', turnId: 't1', seq: 33, title: null, snippet }]
    },
  })
  const box = page.getByRole('searchbox', { name: 'Search sessions' })
  await box.fill('callers')
  const hit = page.getByRole('region', { name: 'In conversations' }).getByRole('link')
  await hit.waitFor()
  expect(await hit.textContent()).toBe('Count the callers…There are no callers of total.')
  expect(await hit.locator('mark').textContent()).toBe('callers')
  await hit.click()
  const found = page.locator('.chat__found')
  await found.waitFor()
  expect(await found.textContent()).toContain('There are no callers of total.')
  const inView = () => found.evaluate(element => element.getBoundingClientRect().top)
  await expect.poll(inView).toBeGreaterThan(0)
  expect(await inView()).toBeLessThan(600)
  await box.fill('')

  // The palette finds conversations by words, and nothing by letters in their order.
  await page.keyboard.press('Control+k')
  const palette = page.getByPlaceholder('Find a session or a command')
  await palette.fill('no callers')
  await page.getByRole('option', { name: /There are no callers/ }).waitFor()
  await palette.fill('nst')
  await expect.poll(() => page.getByRole('option', { name: 'New session' }).count()).toBe(0)
  expect(await page.getByText('Sessions', { exact: true }).count()).toBe(0)
  await close()
})

test('the bar counts who needs you as the list does, and only what is through is done', async () => {
  const ids = { sessionId: 'asks', requestId: 'r' }
  const asked: PermissionRequestEvent = {
    ...{ ...ids, toolName: 'Bash', input: { command: 'npm test' }, raw: null },
    ...{ type: 'permission:request' as const, kind: 'tool' as const },
  }
  const { page, close } = await dashboard.open({
    path: '/s/through',
    scene: canned => {
      canned.add({ sessionId: 'asks', title: 'Asks', phase: 'waiting', pending: [asked] })
      const queue = [{ id: 'q', message: 'Go on.' }]
      canned.add({ sessionId: 'held', title: 'Held', lastTurn: 'completed', queueHeld: true, queue })
      canned.add({ sessionId: 'left', title: 'Left', lastTurn: 'completed', leftUnanswered: true })
      for (const lastTurn of ['failed', 'crashed', 'budget', 'max_turns', 'timeout'] as const)
        canned.add({ sessionId: lastTurn, title: `Ended by ${lastTurn}`, lastTurn })
      canned.add({ sessionId: 'through', title: 'Through', lastTurn: 'completed' })
    },
  })
  const sidebar = page.getByRole('navigation', { name: 'Sessions' })
  const titlesIn = async (group: string) =>
    (await sidebar.getByRole('region', { name: group }).locator('.session-row').allInnerTexts())
      .map(text => text.split('\n')[0])
      .sort()
  await expect.poll(() => titlesIn('Needs you')).toEqual(['Asks', 'Held', 'Left'])
  await sidebar.getByRole('heading', { name: 'Needs you 3' }).waitFor()
  await page.getByRole('contentinfo').getByRole('button', { name: '3 need you' }).waitFor()
  expect(await titlesIn('Done')).toEqual(['Through'])
  expect(await titlesIn('Stopped')).toEqual(
    ['budget', 'crashed', 'failed', 'max_turns', 'timeout'].map(end => `Ended by ${end}`),
  )
  await close()
})

test('the status bar says that a version was never tested, and leads to a trial of it; one that was tried is not marked', async () => {
  const { page, complaints, close } = await dashboard.open({
    path: '/s/new',
    scene: canned => {
      canned.harnesses = [aHarness({ versions: { tested: ['2.1.300'], oldest: '2.1.9' } })]
      for (const [sessionId, version] of [
        ['new', '2.1.400'],
        ['tried', '2.1.325'],
        ['elsewhere', '2.1.401'],
      ] as const) {
        const machine =
          sessionId === 'elsewhere' ? { machine: { name: 'forge', state: 'here' as const } } : {}
        canned.add({ sessionId, title: `Session ${sessionId}`, lastTurn: 'completed', ...machine })
        canned.push(sessionId, [
          { type: 'turn:start', message: 'go' },
          {
            ...{ type: 'session:init', claudeSessionId: 'n', model: 'opus', tools: [] },
            ...{ harness: 'claude-code', version, permissionMode: 'default' },
          },
          { type: 'turn:end', reason: 'completed' },
        ])
      }
    },
  })
  const bar = page.getByRole('contentinfo')
  const mark = bar.getByRole('link', { name: 'never tested: try it' })
  await bar.getByText('Claude Code 2.1.400').waitFor()
  await mark.waitFor()
  expect(await mark.getAttribute('title')).toBe(
    'Claude Code 2.1.400 is newer than the tested versions (2.1.300). A trial takes no account and no tokens.',
  )
  expect(await axeViolations(page)).toEqual([])
  await page.getByRole('link', { name: /Session tried/ }).click()
  await bar.getByText('Claude Code 2.1.325').waitFor()
  expect(await mark.count()).toBe(0)
  // The trials are those of this machine.
  await page.getByRole('link', { name: /Session elsewhere/ }).click()
  await bar.getByText('Claude Code 2.1.401').waitFor()
  expect(await mark.count()).toBe(0)
  await page.getByRole('link', { name: /Session new/ }).click()
  await mark.press('Enter')
  await page.getByRole('region', { name: 'Trials' }).waitFor()
  expect(complaints).toEqual([])
  await close()
})

test('what another browser has read is not new here, and what is read here is told', async () => {
  const { page, api, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      for (const sessionId of ['s1', 's2', 's3']) {
        canned.add({ sessionId, title: `Session ${sessionId}`, lastTurn: 'completed', lastSeq: 9 })
      }
      canned.push('s1', [
        { type: 'turn:start', message: 'go' },
        { type: 'usage', usage: { input_tokens: 19_000, output_tokens: 1_000 } },
        { type: 'turn:end', reason: 'completed' },
      ])
      canned.readMarks = { s2: 9 }
      // After a restart no agent runs: how large the context is was kept, how much of it is used the log says.
      canned.context = { usedTokens: null, maxTokens: 200_000 }
    },
  })
  const row = (name: string) => page.locator('.session-row', { hasText: name })
  await row('Session s3').getByText('new', { exact: true }).waitFor()
  await expect.poll(() => row('Session s2').getByText('new', { exact: true }).count()).toBe(0)
  await expect
    .poll(() => api.called('sessions.markRead'))
    .toContainEqual({ sessionId: 's1', seq: expect.any(Number) })
  await page.getByRole('contentinfo').getByText('context 10 %').waitFor()
  await close()
})

test('a fork says what its agent will know before it is made, from the conversation and from the menu', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: canned => {
      canned.add({ phase: 'idle', lastTurn: 'completed' })
      canned.push('s1', [
        { type: 'turn:start', message: 'go' },
        { type: 'chat:message', messageId: 'm', text: 'Done it.' },
        { type: 'turn:end', reason: 'completed' },
      ])
    },
  })
  const dialog = page.getByRole('dialog', { name: 'Fork from here' })
  await page.getByRole('button', { name: 'Fork from here' }).last().click()
  await dialog.getByText('knows this conversation up to here, with every tool call and result').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect(api.called('sessions.fork')).toEqual([])

  await page.getByRole('button', { name: /^More for/ }).click()
  await page.getByRole('menuitem', { name: 'Fork…' }).click()
  await dialog.getByText('It begins a new one, and gets a written account').waitFor()
  await page.keyboard.press('Escape')
  expect(api.called('sessions.fork')).toEqual([])

  await page.getByRole('button', { name: 'Fork from here' }).last().click()
  await dialog.getByRole('button', { name: 'Fork', exact: true }).click()
  await expect.poll(() => api.called('sessions.fork')).toEqual([{ sessionId: 's1', atSeq: 3 }])
  await expect.poll(() => dialog.count()).toBe(0)
  expect(complaints).toEqual([])
  await close()
})
