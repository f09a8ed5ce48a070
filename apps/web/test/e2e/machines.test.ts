import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, realpath } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { axeViolations, axeViolationsInBothSchemes } from '../support/axe.ts'
import { collectComplaints } from '../support/complaints.ts'
import { PHONE } from '../support/page.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'

const DESK = { viewport: { width: 1440, height: 900 } }
const SESSION = '33333333-3333-4333-8333-333333333333'
const LIAR = '44444444-4444-4444-8444-444444444444'

let browser: Browser
let folder: string
let server: ServerProcess

beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'chirality-machines-')))
  const [project, data] = ['parcel-api', 'data'].map(name => path.join(folder, name)) as [string, string]
  mkdirSync(project)
  await joinFleetWithoutBroker(data)
  mirrorSession(data)
  server = await startServerProcess(['--port', '0', '--project', project, '--fleet', await closedAddress()], {
    ...{ PATH: process.env.PATH ?? '', HOME: folder, TMPDIR: folder, CHIRALITY_HOME: data },
  })
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser?.close()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

let address: string | undefined

/** A port that nothing listens on: the broker is away all the time. */
async function closedAddress(): Promise<string> {
  if (address !== undefined) return address
  const listener = createServer()
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as { port: number }
  await new Promise(resolve => listener.close(resolve))
  address = `tls://127.0.0.1:${port}`
  return address
}

async function joinFleetWithoutBroker(data: string): Promise<void> {
  mkdirSync(path.join(data, 'fleet'), { recursive: true })
  const member = { machine: 'desk', role: 'hub', url: await closedAddress(), seed: 'none', cert: CERTIFICATE }
  writeFileSync(path.join(data, 'fleet/member.json'), JSON.stringify(member))
}

/** What a hub has of a session of another machine: what that machine said of it, and its log. */
function mirrorSession(data: string): void {
  const mirror = path.join(data, 'fleet/mirrors/build-1')
  const states = path.join(mirror, 'states')
  const events = path.join(mirror, '.chirality/events')
  for (const one of [states, events]) mkdirSync(one, { recursive: true })
  writeFileSync(path.join(states, `${SESSION}.json`), JSON.stringify({ session: aSession(), status: null }))
  const lie = { ...aSession(), id: LIAR, title: { not: 'a text' } }
  writeFileSync(path.join(states, `${LIAR}.json`), JSON.stringify({ session: lie, status: null }))
  const log = [
    { type: 'turn:start', message: 'Why does the importer skip rows?' },
    { type: 'chat:message', messageId: 'm1', text: 'The importer skips rows without a postcode.' },
    { type: 'turn:end', reason: 'completed' },
  ].map((event, index) =>
    JSON.stringify({
      ...{ seq: index + 1, at: `2026-11-10T09:00:0${index}.000Z`, sessionId: SESSION, turnId: 't1' },
      event: { sessionId: SESSION, ...event },
    }),
  )
  writeFileSync(path.join(events, `${SESSION}.ndjson`), `${log.join('\n')}\n`)
}

function aSession() {
  const none = { statedUsd: 0, estimatedUsd: 0, unpricedTokens: 0, openUsd: 0, openUnpricedTokens: 0 }
  return {
    ...{ id: SESSION, createdAt: '2026-11-10T09:00:00.000Z', updatedAt: '2026-11-10T09:00:02.000Z' },
    ...{ claudeSessionId: null, projectRoot: '/srv/parcel-api', title: 'Rows that are skipped' },
    ...{ harness: 'claude-code', model: null, persona: null, mode: 'direct', shelf: null },
    ...{ lastTurn: 'completed', leftUnanswered: false, costUsd: 0, costIsEstimate: false, tokens: 0 },
    ...{ workedMs: 2_000, lastSeq: 3, worktree: null, status: 'idle', turnCount: 1, forkedFrom: null },
    ledger: { model: '', ...none, highUsd: 0, settledTokens: 0, openTokens: 0, highTokens: 0 },
    ...{ progress: { lastLine: null }, settings: {} },
  }
}

async function open(where: string, options = DESK): Promise<Page> {
  const context = await browser.newContext(options)
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const complaints = collectComplaints(page)
  onTestFinished(() => expect(complaints).toEqual([]))
  await page.goto(await server.newLink())
  await page.locator('.sheet').waitFor()
  await page.goto(`${server.url}${where}`)
  return page
}

const overhang = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)

test('a session of a machine that cannot be reached is read, found and exported, and says why nothing can be sent', async () => {
  const page = await open('/')
  await page.getByText('parcel-api on build-1').first().waitFor()
  await page
    .getByRole('link', { name: /Rows that are skipped/ })
    .first()
    .click()
  await page.getByText('The importer skips rows without a postcode.').waitFor()
  await page.locator('.top-bar__machine').getByText('build-1, not connected').waitFor()
  await page.getByRole('status').getByText('Not heard from build-1 yet').waitFor()
  expect(await page.getByRole('textbox', { name: 'Message' }).count()).toBe(0)
  expect(await axeViolationsInBothSchemes(page)).toEqual([])

  // What only its machine can do waits for it; what is here works.
  await page.getByRole('button', { name: 'Actions' }).click()
  expect(await page.getByRole('menuitem').allTextContents()).toEqual([
    ...['Rename', 'Pin to the top', 'Archive', 'Fork…'].map(label => `${label}build-1 was not heard yet`),
    ...['Export as Markdown', 'Export as a page that replays it', 'Only this project'],
    'Deletebuild-1 was not heard yet',
  ])
  for (const name of [/^Rename/, /^Pin to the top/, /^Archive/, /^Fork/, /^Delete/])
    expect(await page.getByRole('menuitem', { name }).isDisabled()).toBe(true)
  const saved = page.waitForEvent('download')
  await page.getByRole('menuitem', { name: 'Export as Markdown' }).click()
  const stream = await (await saved).createReadStream()
  let text = ''
  for await (const piece of stream) text += String(piece)
  expect(text).toContain('The importer skips rows without a postcode.')

  const answer = await fetch(
    `${server.url}/trpc/sessions.search?input=${encodeURIComponent('{"query":"postcode"}')}`,
    {
      headers: { authorization: `Bearer ${server.token}` },
    },
  )
  const { result } = (await answer.json()) as { result: { data: { hits: object[] } } }
  expect(result.data.hits).toMatchObject([
    { sessionId: SESSION, title: 'Rows that are skipped', projectRoot: '/srv/parcel-api', seq: 2 },
  ])
})

test('machines are listed with their state, and a hub without the broker says where they are invited', async () => {
  const page = await open('/settings/machines')
  await page.getByText('This machine, desk, is not connected to the fleet').waitFor()
  await page.getByText('Machines are invited and revoked where the broker is.').waitFor()
  const cards = page.locator('.machine')
  await expect.poll(() => cards.count()).toBe(2)
  // One session: what a machine tells of another one is not as sessions are, and is left out.
  await cards.filter({ hasText: 'build-1' }).getByText('1 session').waitFor()
  await cards.filter({ hasText: 'desk' }).getByText('this machine').waitFor()
  expect(await page.getByRole('button', { name: /Invite|Revoke/ }).count()).toBe(0)
  expect(await axeViolationsInBothSchemes(page)).toEqual([])
  await page.goto(`${server.url}/fleet`)
  await page.getByRole('region', { name: 'Machines' }).getByText('build-1').waitFor()
  expect(await axeViolations(page)).toEqual([])

  const phone = await open('/settings/machines', PHONE)
  await phone.locator('.machine').filter({ hasText: 'build-1' }).waitFor()
  expect(await overhang(phone)).toBeLessThanOrEqual(0)
  await phone.goto(`${server.url}/s/${SESSION}`)
  await phone.getByRole('status').getByText('Not heard from build-1 yet').waitFor()
  expect(await overhang(phone)).toBeLessThanOrEqual(0)
  expect(await axeViolations(phone)).toEqual([])
})

/** Of no broker: it is only shown by its fingerprint. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBVTCB/KADAgECAhBl59zdUXGcCyll2f9H127ZMAoGCCqGSM49BAMCMBoxGDAW
BgNVBAMMD0NoaXJhbGl0eSBmbGVldDAeFw0yNjExMTYxNjI0MzlaFw0zNjExMTQx
NjI0MzlaMBoxGDAWBgNVBAMMD0NoaXJhbGl0eSBmbGVldDBZMBMGByqGSM49AgEG
CCqGSM49AwEHA0IABEbizj0myAYkXrhOfXFy06d9mj/MqUrSxgXfK+y8320475sz
NK//YxybrK6hgyKd8Jgv4ITpj3A33TBRMB7jihSjJDAiMA8GA1UdEwEB/wQFMAMB
Af8wDwYDVR0RBAgwBocEfwAAATAKBggqhkjOPQQDAgNIADBFAiBEBDntALd05JH7
o6tDoEfExOrFsOGknC6eT3fIxbPvEgIhAKE2ng8vsct0MOy/FFhso0YcabAgp5ea
ZFRK32C7KMoF
-----END CERTIFICATE-----
`
