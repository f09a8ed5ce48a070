import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { exportSession } from '../../src/history/export/export-session.ts'
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts'
import { useProject } from '../support/project.ts'
import { type LooseEvent, sessionWith } from '../support/sessions.ts'
import { useStore } from '../support/store.ts'

const project = useProject()
const stores = useStore()
let browser: Browser

beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())

interface Opened {
  page: Page
  /** What the page asked for beside itself, and what it complained of. */
  requests: string[]
  errors: string[]
}

async function open(events: LooseEvent[], title: string): Promise<Opened> {
  const session = await sessionWith(events, { store: stores.open(), projectRoot: project.root, title })
  let html = ''
  for await (const part of exportSession(project.root, session.id, { format: 'html', home: stores.home }))
    html += part
  const file = join(project.root, 'page.html')
  writeFileSync(file, html)
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  const requests: string[] = []
  const errors: string[] = []
  page.on('request', request => requests.push(request.url()))
  page.on('pageerror', error => errors.push(error.message))
  page.on('console', message => errors.push(message.text()))
  page.on('dialog', dialog => errors.push(`dialog ${dialog.message()}`))
  await page.goto(pathToFileURL(file).href)
  await page.waitForSelector('footer')
  return { page, requests: requests.slice(1), errors }
}

const TURNS: LooseEvent[] = [
  { type: 'turn:start', message: 'Find the heron' },
  { type: 'session:init', claudeSessionId: 'n', model: 'opus', tools: [], harness: 'claude-code' },
  { type: 'tool:start', toolUseId: 'a', name: 'Bash', input: { command: 'ls' } },
  { type: 'tool:result', toolUseId: 'a', content: 'lake.txt', isError: false },
  { type: 'chat:delta', messageId: 'm', text: 'In the ' },
  { type: 'chat:delta', messageId: 'm', text: 'lake.' },
  { type: 'chat:message', messageId: 'm', text: 'In the lake.' },
  { type: 'session:complete', costUsd: 0.5, usage: { input_tokens: 1, output_tokens: 1 } },
  { type: 'turn:end', reason: 'completed' },
  { type: 'turn:start', message: 'And now?' },
  {
    type: 'permission:request',
    requestId: 'r',
    kind: 'tool',
    toolName: 'Edit',
    input: { file_path: 'lake.txt' },
    raw: {},
  },
  { type: 'permission:resolved', requestId: 'r', outcome: 'allowed', by: 'person' },
  {
    type: 'tool:start',
    toolUseId: 'b',
    name: 'Edit',
    input: { file_path: 'lake.txt', old_string: 'duck', new_string: 'heron' },
  },
  { type: 'tool:result', toolUseId: 'b', content: 'ok', isError: false },
  { type: 'turn:end', reason: 'completed' },
]

interface Found {
  hacked: boolean
  scripts: number
  strange: string[]
  items: number
  texts: string[]
}

/** What the player makes, and the tags that the page itself has. */
const EXPECTED = JSON.stringify(
  'noscript script header h1 p i main div details summary span pre code footer button input select option label'.split(
    ' ',
  ),
)

/** The transcript as a reader sees it. */
async function shown(page: Page): Promise<string[]> {
  return page.locator('.items > :not([hidden])').allTextContents()
}

describe('the page in a browser', () => {
  test('shows the whole session, and makes no request', async () => {
    const { page, requests, errors } = await open(TURNS, 'The heron')
    expect(await page.title()).toBe('The heron')
    expect(await page.locator('h1').textContent()).toBe('The heron')
    expect(await page.locator('.facts').textContent()).toBe('rests · claude-code opus · 2 turns · $0.5000')
    expect(await shown(page)).toEqual([
      'Find the heron',
      'Ranls1.0 s',
      'In the lake.',
      'And now?',
      'Editedlake.txt1.0 s-duck+heron',
    ])
    expect(await page.locator('.diff .added').textContent()).toBe('+heron')
    await page.locator('summary', { hasText: 'Ran' }).click()
    expect(await page.locator('.result').textContent()).toBe('lake.txt')
    expect({ requests, errors }).toEqual({ requests: [], errors: [] })
  })

  test('goes to any event by keys and by the slider, and knows what waited', async () => {
    const { page } = await open(TURNS, 'The heron')
    await page.keyboard.press('Home')
    expect(await shown(page)).toEqual([])
    for (let i = 0; i < 5; i += 1) await page.keyboard.press('ArrowRight')
    expect((await shown(page)).at(-1)).toBe('In the')
    await page.keyboard.press('Shift+ArrowRight')
    expect((await shown(page)).at(-1)).toBe('And now?')
    expect(await page.locator('.facts').textContent()).toContain('works')
    await page.keyboard.press('ArrowRight')
    expect(await page.locator('.ask').textContent()).toBe('Waits for a decision: Editlake.txt')
    expect(await page.locator('.facts').textContent()).toContain('waits')
    await page.locator('input[type=range]').fill('3')
    expect(await page.locator('.label').textContent()).toMatch(/^3 \/ 15 · /)
    await page.keyboard.press('End')
    expect(await shown(page)).toHaveLength(5)
  })

  test('plays to the end by itself, and stops there', async () => {
    const { page } = await open(TURNS, 'The heron')
    await page.locator('select').selectOption('100')
    await page.keyboard.press('Home')
    await page.locator('.play').click()
    await expect.poll(() => page.locator('.label').textContent()).toMatch(/^15 \//)
    expect(await page.locator('.play').textContent()).toBe('Play')
    expect(await shown(page)).toHaveLength(5)
  })

  test('filters by text and by kind', async () => {
    const { page } = await open(TURNS, 'The heron')
    await page.keyboard.press('/')
    await page.keyboard.type('LAKE')
    expect((await shown(page)).map(text => text.slice(0, 4))).toEqual(['Ranl', 'In t', 'Edit'])
    await page.getByLabel('Tools').uncheck()
    expect(await shown(page)).toEqual(['In the lake.'])
    await page.keyboard.press('Escape')
    expect(await shown(page)).toEqual(['Find the heron', 'In the lake.', 'And now?'])
  })

  test('obeys nothing that the session holds', async () => {
    const events = HOSTILE_TEXTS.flatMap((text, n): LooseEvent[] => [
      { type: 'turn:start', message: text },
      { type: 'session:init', claudeSessionId: text, model: text, tools: [text], harness: text },
      { type: 'chat:thinking', messageId: `th${n}`, text, final: true },
      {
        type: 'tool:start',
        toolUseId: `u${n}`,
        name: text,
        input: { [text]: text, old_string: text, new_string: text },
      },
      { type: 'tool:result', toolUseId: `u${n}`, content: text, isError: true },
      { type: 'chat:message', messageId: `m${n}`, text },
      { type: 'status', status: 'notice', message: text, level: 'warn' },
      { type: 'session:error', error: text, code: 'unknown' },
      { type: 'turn:end', reason: 'failed' },
    ])
    const { page, requests, errors } = await open(events, HOSTILE_TEXTS.join(' '))
    const found = await page.evaluate<Found>(`({
      hacked: 'hacked' in window,
      scripts: document.scripts.length,
      strange: [...document.querySelectorAll('body *')].map(({ localName }) => localName).filter(name => !(${EXPECTED}).includes(name)),
      items: document.querySelectorAll('.items > *').length,
      texts: [...document.querySelectorAll('.error:not(.notice)')].map(({ textContent }) => textContent),
    })`)
    expect(found).toMatchObject({ hacked: false, scripts: 2, strange: [], items: HOSTILE_TEXTS.length * 6 })
    expect(found.texts).toEqual(HOSTILE_TEXTS)
    expect({ requests, errors }).toEqual({ requests: [], errors: [] })
  })

  test('its policy lets nothing else run', async () => {
    const { page, errors } = await open(TURNS, 'The heron')
    await page.evaluate(`{
      const script = document.createElement('script')
      script.textContent = 'window.hacked = 1'
      const image = document.createElement('img')
      image.src = 'http://127.0.0.1:9/pixel.png'
      document.body.append(script, image)
    }`)
    await expect.poll(() => errors.length).toBeGreaterThanOrEqual(2)
    expect(await page.evaluate(`'hacked' in window`)).toBe(false)
    expect(errors.every(error => error.includes('Content Security Policy'))).toBe(true)
  })
})
