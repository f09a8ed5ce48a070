import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser } from '../support/browser.ts'
import { collectComplaints } from '../support/complaints.ts'
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
  server = await startServerProcess(['--demo'], env)
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser?.close()
  await server?.stop()
  await rm(home, { recursive: true, force: true })
})

const allow = (page: Page) => page.getByRole('button', { name: 'Allow', exact: true })

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
  await page.getByRole('region', { name: 'Changes in greet.js' }).last().waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await talk.getByText('done', { exact: true }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})
