import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { choose, picker } from '../support/choose.ts'
import { collectComplaints } from '../support/complaints.ts'
import { cardWithKeys } from '../support/keys.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'

let browser: Browser
let server: ServerProcess
let home: string

beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'chirality-demo-'))
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    TMPDIR: home,
    CHIRALITY_HOME: path.join(home, 'data'),
  }
  server = await startServerProcess(['--demo', '--port', '0'], env)
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser?.close()
  await server?.stop()
  await rm(home, { recursive: true, force: true })
})

const allow = (page: Page) => page.getByRole('button', { name: 'Allow once' })

test('the demo from the first load to the diff: no account, no other program', async () => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const page = await context.newPage()
  const complaints = collectComplaints(page)
  await page.goto(server.link)
  await page.getByRole('button', { name: 'The test fails. Find out why and mend it.' }).click()
  const talk = page.getByRole('region', { name: 'Conversation' })
  await talk.getByText('I run the test to see what is wrong.').waitFor()

  // A reload in the middle of a request: it is still there, and so is all that was said.
  await talk.getByText('Run this command?').waitFor()
  await page.reload()
  await talk.getByText('Run this command?').waitFor()
  await talk.getByText('I run the test to see what is wrong.').waitFor()

  // Two tabs on one session: answered in one, gone from the other.
  const second = await context.newPage()
  await second.goto(page.url())
  await second.getByText('Run this command?').waitFor()
  await cardWithKeys(second).waitFor()
  await second.keyboard.press('a')
  await talk.getByText('Change this file?').waitFor()
  await second.close()

  await talk.getByText("return 'Hello, ' + name + '!'").first().waitFor()
  await allow(page).click()
  await talk.getByText('And the test once more.').waitFor()
  // A reload in the middle of a turn.
  await page.reload()
  await allow(page).click()
  await talk.getByText('and the test passes').waitFor()
  await page.getByRole('group', { name: 'Changes in greet.js' }).last().waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await talk.getByText('done', { exact: true }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('the panes beside it: log, replay, prompt, changes of a turn, search, fork, rename, delete', async () => {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  const complaints = collectComplaints(page)
  await page.goto(await server.newLink())
  await page
    .getByRole('link', { name: /Mend the failing test/ })
    .first()
    .click()
  const talk = page.getByRole('region', { name: 'Conversation' })
  await talk.getByText('and the test passes').waitFor()

  await page.getByRole('button', { name: 'Changes of this turn' }).click()
  expect(await picker(page, 'Changes of').textContent()).toBe(
    'Turn 1 · The test fails. Find out why and mend it.',
  )
  await page.getByRole('group', { name: 'Changes in greet.js' }).last().waitFor()
  await page.getByRole('tab', { name: 'Persona' }).click()
  await page.getByRole('region', { name: 'The prompt' }).waitFor()
  await page.getByRole('tab', { name: 'Raw' }).click()
  // What the agent printed, out of its raw log, and the event that it became.
  await page.getByRole('button', { name: 'Native lines' }).click()
  const lines = page.getByRole('group', { name: 'Native lines' })
  await lines.getByRole('button', { name: /^result/ }).click()
  await page.getByText('The event came from this line.').waitFor()
  expect(await page.getByRole('region', { name: 'Native line as JSON' }).textContent()).toContain('"result"')
  expect(await page.getByRole('region', { name: /UI event .* as JSON/ }).textContent()).toContain(':complete')
  await page.getByRole('button', { name: 'UI events' }).click()
  await page.getByRole('button', { name: /turn:end/ }).click()
  await page.getByRole('region', { name: /UI event .* as JSON/ }).waitFor()
  await page.getByRole('button', { name: 'Replay' }).click()
  const replay = page.getByRole('dialog', { name: 'Replay' })
  await choose(replay, 'Speed', '100×')
  await replay.getByText('and the test passes').waitFor()
  await page.keyboard.press('Escape')

  await page.getByRole('searchbox', { name: 'Search sessions' }).fill('exclamation')
  await page.getByRole('region', { name: 'In conversations' }).getByRole('link').first().waitFor()
  await page.getByRole('searchbox', { name: 'Search sessions' }).fill('')

  const before = page.url()
  await page.getByRole('button', { name: 'Fork from here' }).last().click()
  const forking = page.getByRole('dialog', { name: 'Fork from here' })
  await forking.getByText('knows all of this conversation').waitFor()
  await forking.getByRole('button', { name: 'Fork', exact: true }).click()
  await expect.poll(() => page.url()).not.toBe(before)
  await talk.getByText('and the test passes').waitFor()
  const menu = page.locator('.session-row--on').getByRole('button', { name: /^More for/ })
  await menu.click()
  await page.getByRole('menuitem', { name: 'Rename' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('A fork of it')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: /A fork of it/ }).waitFor()
  await menu.click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  const fork = page.getByRole('link', { name: /A fork of it/ })
  await expect.poll(() => fork.count()).toBe(0)
  await page.getByRole('button', { name: 'Undo' }).click()
  await fork.first().waitFor()
  expect(complaints).toEqual([])
  await page.close()
})

test('a second demo begins with the fault, too', async () => {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await page.goto(await server.newLink())
  await page.getByRole('button', { name: 'Try the demo' }).click()
  await page.getByRole('button', { name: 'The test fails. Find out why and mend it.' }).click()
  const talk = page.getByRole('region', { name: 'Conversation' })
  await allow(page).click()
  await talk.getByText('Change this file?').waitFor()
  await talk.getByText("return 'Hello, ' + name + '!'").first().waitFor()
  await allow(page).click()
  await talk.getByText('And the test once more.').waitFor()
  await allow(page).click()
  await talk.getByText('and the test passes').waitFor()
  await page.close()
})
