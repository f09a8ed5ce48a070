// Takes the pictures of README and docs: the real server and dashboard, real agents on the scripted model, real git.
// `npm run pictures` writes them into docs/screenshots, light, dark and at the size of a phone.
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { claudeBinary, cleanHome, codexBinary, initRepository } from '@chirality/fixtures'
import { codexArgs, startScriptedModel } from '@chirality/scripted-model'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../../../.scripts/browser.ts'
import { cardWithKeys } from './support/keys.ts'
import { startServerProcess } from './support/server-process.ts'

const FOLDER = path.join(import.meta.dirname, '../../../docs/screenshots')
const DESK = { viewport: { width: 1280, height: 800 } }
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
const WAIT_MS = 60_000

const FILES = {
  'package.json': '{ "name": "parcel-api", "type": "module" }\n',
  'src/retry.js': [
    '/** Waits longer after each failed call. */',
    'export function delayMs(attempt) {',
    '  return 500 * attempt',
    '}',
    '',
  ].join('\n'),
  'test/retry.test.js': [
    "import assert from 'node:assert'",
    "import test from 'node:test'",
    "import { delayMs } from '../src/retry.js'",
    '',
    "test('each delay is twice the last one', () => {",
    '  assert.deepEqual([1, 2, 3].map(delayMs), [500, 1000, 2000])',
    '})',
    '',
  ].join('\n'),
}

const EDIT = {
  file_path: 'src/retry.js',
  old_string: '  return 500 * attempt',
  new_string: '  return 500 * 2 ** (attempt - 1)',
}
const RUN_TESTS = { command: 'node --test', description: 'Run the tests' }
const QUESTION = {
  question: 'How often should a webhook be tried before it counts as lost?',
  header: 'Attempts',
  multiSelect: false,
  options: [
    { label: '5 times', description: 'Gives up after about 16 seconds' },
    { label: '8 times', description: 'Gives up after about two minutes' },
  ],
}

/** Each request takes the next answer, and the sessions below are worked through one after the other. */
const claude = await startScriptedModel({
  answers: [
    { text: 'I read the code and its test first.', tool: 'Read', input: { file_path: 'src/retry.js' } },
    { tool: 'Read', input: { file_path: 'test/retry.test.js' } },
    { text: 'The delay grows by a constant; it should double.', tool: 'Edit', input: EDIT },
    { text: 'Now the tests.', tool: 'Bash', input: RUN_TESTS, usage: { input: 18_400, output: 620 } },
    {
      text: [
        'Retries wait twice as long each time now, and the test passes.',
        '',
        '- `delayMs(attempt)` is `500 * 2 ** (attempt - 1)`: 500 ms, 1 s, 2 s …',
        '- Nothing else calls it, so no other delay has changed.',
      ].join('\n'),
      usage: { input: 21_300, output: 540 },
    },
    { tool: 'AskUserQuestion', input: { questions: [QUESTION] }, usage: { input: 9_800, output: 210 } },
    { text: 'I look at the retries.', tool: 'Read', input: { file_path: 'src/retry.js' } },
    {
      text: 'Before I add a cap I check that the tests pass as they are.',
      ...{ tool: 'Bash', input: RUN_TESTS, usage: { input: 12_600, output: 180 } },
    },
  ],
})
const codex = await startScriptedModel({
  answers: [
    { tool: 'exec_command', input: { cmd: 'grep -n attempt src/retry.js' } },
    {
      text: '`attempt` counts from 1: the first retry waits 500 ms. There is no upper limit on the delay yet.',
      usage: { input: 7_200, output: 130 },
    },
  ],
})
const world = await cleanHome(claude)
const project = path.join(world.home, 'parcel-api')
makeProject()
const server = await startServerProcess(['--port', '0', '--project', project], {
  ...world.env,
  CHIRALITY_HOME: path.join(world.home, 'chirality'),
  CHIRALITY_CLAUDE_BIN: claudeBinary(),
  CHIRALITY_CODEX_BIN: codexBinary().path,
  CHIRALITY_CODEX_CONFIG: JSON.stringify([
    ...codexArgs(codex).args.filter(arg => arg !== '-c'),
    'model_providers.scripted.env_key="CODEX_API_KEY"',
    'model="gpt-5.5"',
  ]),
  CODEX_API_KEY: 'sk-scripted-model',
})
const browser = await launchBrowser()
try {
  await rm(FOLDER, { recursive: true, force: true })
  await mkdir(FOLDER, { recursive: true })
  const sessions = await work()
  for (const colorScheme of ['light', 'dark'] as const) await takeAll(sessions, colorScheme)
} finally {
  await browser.close()
  await server.stop()
  await Promise.all([claude.close(), codex.close()])
  await world.dispose()
}

type Sessions = Awaited<ReturnType<typeof work>>

/** What the pictures show: two finished sessions, one with a question, one that asks to run a command. */
async function work() {
  const done = await start('claude-code', 'Retries should back off exponentially', 'acceptEdits')
  await finish(done)
  const explained = await start('codex', 'From which number does attempt count?')
  await finish(explained)
  const question = await start('claude-code', 'Decide how long webhooks are retried')
  await asked(question)
  const decision = await start('claude-code', 'Cap the delay between retries at one minute')
  await asked(decision)
  return { done, question, decision }
}

async function takeAll({ done, question, decision }: Sessions, colorScheme: 'light' | 'dark') {
  const context = await browser.newContext({ colorScheme, ...DESK })
  const page = await context.newPage()
  await page.goto(await server.newLink())
  const take = (name: string) => picture(page, `${name}-${colorScheme}`)
  await page.getByRole('region', { name: 'Lately' }).waitFor()
  await page.getByRole('region', { name: 'Today' }).waitFor()
  await take('start')
  await visit(page, `/s/${decision}`)
  await cardWithKeys(page).waitFor()
  await take('decision')
  await visit(page, `/s/${question}`)
  await page.getByText(QUESTION.question).first().waitFor()
  await take('question')
  await visit(page, `/s/${done}`)
  await page.getByText('and the test passes').first().waitFor()
  await page.locator('.hl-keyword, .hl-string').first().waitFor()
  await take('done')
  await page.getByRole('tab', { name: 'Raw' }).click()
  await page.getByRole('region', { name: 'Raw' }).or(page.locator('.raw')).first().waitFor()
  await take('raw')
  await visit(page, `/s/${done}`)
  await page.getByText('and the test passes').first().waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill('re')
  await page.getByRole('option').first().waitFor()
  await take('palette')
  await page.keyboard.press('Escape')
  await visit(page, '/settings/data')
  await page.getByRole('region', { name: 'Disk use' }).waitFor()
  await take('data')
  await visit(page, '/fleet')
  await page.getByRole('heading', { name: 'All sessions' }).waitFor()
  await take('fleet')
  await visit(page, '/usage')
  await page.getByRole('radio', { name: 'Today' }).click()
  await page.getByRole('radio', { name: 'Agent' }).click()
  await page.getByRole('listbox', { name: /over time/ }).focus()
  await page.locator('.chart__tip').waitFor()
  await take('usage')
  await context.close()

  const phone = await browser.newContext({ colorScheme, ...PHONE })
  const small = await phone.newPage()
  await small.goto(await server.newLink())
  await small.locator('main h1').waitFor()
  await visit(small, `/s/${decision}`)
  await small.getByText('Run this command?').waitFor()
  await picture(small, `phone-${colorScheme}`)
  await phone.close()
}

async function visit(page: Page, place: string): Promise<void> {
  await page.goto(new URL(place, page.url()).href)
}

async function picture(page: Page, name: string): Promise<void> {
  await page.evaluate(() => document.fonts.ready)
  // Two frames: what was just drawn is also in its place.
  await page.evaluate(
    () => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  )
  await page.screenshot({ path: path.join(FOLDER, `${name}.png`), animations: 'disabled' })
  console.log(`docs/screenshots/${name}.png`)
}

async function start(harness: string, message: string, permissionMode = 'default'): Promise<string> {
  const { id } = await call<{ id: string }>('sessions.create', { project, harness, permissionMode })
  await call('turns.send', { sessionId: id, message })
  return id
}

interface Pending {
  request: { requestId: string }
}

async function asked(sessionId: string): Promise<void> {
  await until(async () => (await ask<Pending[]>('decisions.pending', { sessionId }))[0])
}

/** Allows what the agent asks for, until its turn is over. */
async function finish(sessionId: string): Promise<void> {
  const { lastTurn } = await until(async () => {
    const waiting = await ask<Pending[]>('decisions.pending', { sessionId })
    for (const { request } of waiting) {
      const { requestId } = request
      await call('decisions.answer', { sessionId, requestId, decision: { behavior: 'allow' } })
    }
    const session = await ask<{ status: string; lastTurn: string | null }>('sessions.get', { sessionId })
    return session.status === 'idle' && session.lastTurn !== null ? session : undefined
  })
  if (lastTurn !== 'completed') throw new Error(`A turn ended as ${lastTurn}.`)
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + WAIT_MS
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > end) throw new Error('An agent did not come to what should be shown.')
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

function ask<T>(name: string, input: object): Promise<T> {
  return request(`/trpc/${name}?input=${encodeURIComponent(JSON.stringify(input))}`, { method: 'GET' })
}

function call<T>(name: string, input: object): Promise<T> {
  return request(`/trpc/${name}`, { method: 'POST', body: JSON.stringify(input) })
}

async function request<T>(place: string, init: RequestInit): Promise<T> {
  const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }
  const response = await fetch(`${server.url}${place}`, { ...init, headers })
  if (!response.ok) throw new Error(`${place}: ${await response.text()}`)
  const { result } = (await response.json()) as { result: { data: T } }
  return result.data
}

function makeProject(): void {
  const repository = initRepository(project)
  for (const [name, text] of Object.entries(FILES)) repository.write(name, text)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'Retry webhooks')
}
