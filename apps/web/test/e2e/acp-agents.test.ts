import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { acpAdapter, type CleanHome, claudeBinary, cleanHome } from '@chirality/fixtures'
import { type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { askedWith } from '../support/asked-with.ts'
import { collectComplaints } from '../support/complaints.ts'
import { cardWithKeys } from '../support/keys.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'

// A real server, a real browser and a real agent of the Agent Client Protocol, as a user would add it.

const AGENT = 'My agent'
const HARNESS = 'acp-mine'

let browser: Browser
let world: CleanHome
let model: ScriptedModel
let server: ServerProcess

beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())

beforeEach(async () => {
  model = await startScriptedModel({ answers: [], otherwise: 'There is no more to say.' })
  world = await cleanHome(model)
  const names = Object.keys(world.env).filter(name => /^(ANTHROPIC|CLAUDE|DISABLE)_/.test(name))
  const mine = { name: 'mine', title: AGENT, command: acpAdapter('claude-agent-acp'), args: [] }
  await mkdir(dataFolder(), { recursive: true, mode: 0o700 })
  await writeFile(
    path.join(dataFolder(), 'agents.json'),
    JSON.stringify({ agents: [{ ...mine, env: [...names, 'CLAUDE_CODE_EXECUTABLE'] }] }),
  )
  server = await start()
})

afterEach(async () => {
  await server?.stop()
  await model?.close()
  expect(await processesOf(world)).toEqual([])
  await world?.dispose()
})

test('a conversation of its own is imported, shown, and goes on', { timeout: 300_000 }, async () => {
  model.continueWith('It is a fine folder.', 'The walrus, as you said.')
  const nativeSessionId = await talkOutside('Remember the walrus.')
  const page = await openPage()
  const row = await conversation(page)
  await row.getByRole('button', { name: /^Import / }).click()
  const talk = page.getByRole('region', { name: 'Conversation' })
  await talk.getByText('Remember the walrus.').waitFor({ timeout: 120_000 })
  await talk.getByText('It is a fine folder.').waitFor()
  await page.getByRole('textbox', { name: 'Message' }).fill('What was it?')
  await page.keyboard.press('Enter')
  await talk.getByText('The walrus, as you said.').waitFor({ timeout: 120_000 })
  expect(askedWith(model, 'What was it?')).toContain('It is a fine folder.')
  expect(await stored()).toMatchObject([{ harness: HARNESS, claudeSessionId: nativeSessionId }])
  // A second import of the same conversation would let two sessions continue it.
  const again = await call('sessions.import', { project: world.project, harness: HARNESS, nativeSessionId })
  expect(again.error?.data.reason).toBe('import-already-imported')
  await page.close()
})

test('an import that fails is told, and leaves no session and no process', { timeout: 300_000 }, async () => {
  model.continueWith('It is a fine folder.')
  const nativeSessionId = await talkOutside('Remember the walrus.')
  const page = await openPage()
  const row = await conversation(page)
  // Somebody deletes it while the list is open.
  const folder = path.join(world.home, '.claude', 'projects')
  for (const name of await readdir(folder, { recursive: true }))
    if (name.endsWith(`${nativeSessionId}.jsonl`)) await rm(path.join(folder, name))
  await row.getByRole('button', { name: /^Import / }).click()
  const dialog = page.getByRole('dialog', { name: 'Import a conversation' })
  await dialog
    .getByRole('alert')
    .getByText(`has no conversation ${nativeSessionId}`)
    .waitFor({ timeout: 120_000 })
  expect(await stored()).toEqual([])
  await expect.poll(() => processesOf(world)).toEqual([server.pid])
  const listed = await call('sessions.native', { project: world.project }, 'GET')
  expect(listed.result.data).toEqual({ sessions: [], faults: [] })
  await page.close()
})

test.each([
  { harness: 'messages-api', tool: 'bash', asksAgain: true },
  { harness: HARNESS, tool: 'Bash', asksAgain: false },
])(
  '$harness, and the server is killed while a request waits: one click goes on',
  { timeout: 300_000 },
  async ({ harness, tool, asksAgain }) => {
    const touch = { tool, input: { command: 'touch made.txt', description: 'Make it' } }
    model.continueWith(touch, ...(asksAgain ? [] : [touch]), 'It is made now.')
    const options = { project: world.project, harness, permissionMode: 'default' }
    const { id: sessionId } = (await call<{ id: string }>('sessions.create', options)).result.data
    await call('turns.send', { sessionId, message: 'Make it.' })
    const before = await openPage(`/s/${sessionId}`)
    await before.getByText('Run this command?').waitFor({ timeout: 120_000 })
    await before.close()
    await server.kill()
    await expect.poll(() => processesOf(world), { timeout: 60_000 }).toEqual([])

    server = await start()
    const page = await openPage(`/s/${sessionId}`)
    const complaints = collectComplaints(page)
    const talk = page.getByRole('region', { name: 'Conversation' })
    await talk.getByText('nobody could give one').waitFor({ timeout: 120_000 })
    expect(existsSync(path.join(world.project, 'made.txt'))).toBe(false)
    const goOn = talk.getByRole('button', { name: 'Go on', exact: true })
    await goOn.click()
    await talk.getByText('Go on.', { exact: true }).waitFor()
    await cardWithKeys(page).waitFor({ timeout: 120_000 })
    await goOn.waitFor({ state: 'detached' })
    await page.keyboard.press('a')
    await talk.getByText('It is made now.').waitFor({ timeout: 120_000 })
    expect(existsSync(path.join(world.project, 'made.txt'))).toBe(true)
    expect(complaints).toEqual([])
    await page.close()
  },
)

function dataFolder(): string {
  return path.join(world.home, 'chirality')
}

function start(): Promise<ServerProcess> {
  return startServerProcess(['--port', '0', '--project', world.project], {
    ...world.env,
    PATH: `${path.dirname(process.execPath)}:${world.env.PATH}`,
    CHIRALITY_HOME: dataFolder(),
    CHIRALITY_CLAUDE_BIN: claudeBinary(),
    CLAUDE_CODE_EXECUTABLE: claudeBinary(),
  })
}

async function openPage(at = '/fleet'): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await page.goto(await server.newLink())
  await page.getByRole('button', { name: 'New session' }).first().waitFor()
  await page.goto(`${server.url}${at}`)
  return page
}

/** What the agent itself lists; Claude Code, whose files these are, lists it as well. */
async function conversation(page: Page) {
  await page.getByRole('button', { name: 'Import…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Import a conversation' })
  const row = dialog.getByRole('listitem').filter({ hasText: AGENT })
  await row.waitFor({ timeout: 120_000 })
  return row
}

/** A conversation in a terminal. */
async function talkOutside(prompt: string): Promise<string> {
  const args = ['-p', '--output-format', 'json']
  const run = promisify(execFile)(claudeBinary(), args, { cwd: world.project, env: world.env })
  run.child.stdin?.end(prompt)
  const { session_id } = JSON.parse((await run).stdout) as { session_id: string }
  return session_id
}

interface Answer<T> {
  result: { data: T }
  error?: { message: string; data: { reason: string } }
}

async function call<T>(name: string, input: object, method: 'GET' | 'POST' = 'POST'): Promise<Answer<T>> {
  const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify(input)
  const url = `${server.url}/trpc/${name}`
  const answer =
    method === 'GET'
      ? await fetch(`${url}?input=${encodeURIComponent(body)}`, { headers })
      : await fetch(url, { method, headers, body })
  return (await answer.json()) as Answer<T>
}

async function stored(): Promise<object[]> {
  const input = { project: world.project }
  return (await call<{ sessions: object[] }>('sessions.list', input, 'GET')).result.data.sessions
}

/** Everything that runs with this home; the server itself is one of them. */
async function processesOf({ home }: CleanHome): Promise<number[]> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const ours = await Promise.all(
    pids.map(async pid => {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
      return environment.split('\0').includes(`HOME=${home}`) ? [Number(pid)] : []
    }),
  )
  return ours.flat()
}
