import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { PERMISSION_WORDS } from '@chirality/core'
import { type CleanHome, claudeBinary, cleanHome, codexBinary } from '@chirality/fixtures'
import { codexArgs, type Script, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { askedWith } from '../support/asked-with.ts'
import { choose } from '../support/choose.ts'
import { collectComplaints } from '../support/complaints.ts'
import { cardWithKeys } from '../support/keys.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'

const SDK = { tool: 'Bash', input: { command: 'echo made > made-by-sdk.txt', description: 'Make it' } }
/** Only what wants out of the sandbox is asked about. */
const CODEX = {
  tool: 'exec_command',
  input: {
    cmd: 'echo made > made-by-codex.txt',
    sandbox_permissions: 'require_escalated',
    justification: 'It is wanted.',
  },
}

const script = (call: typeof SDK | typeof CODEX): Script => ({
  defaults: { chunkChars: 6, chunkDelayMs: 20 },
  answers: [
    { text: 'I make the file that is missing, so that there is one.', ...call },
    // The rest comes when the page was seen to show the beginning.
    { text: 'The file is made, and it says so in one word.', stallAfter: 3 },
    'It was the one that I made before.',
  ],
  otherwise: 'There is no more to say.',
})

const models: Record<string, ScriptedModel> = {}
let world: CleanHome
let server: ServerProcess
let browser: Browser

beforeAll(async () => {
  const [sdk, codex] = await Promise.all([startScriptedModel(script(SDK)), startScriptedModel(script(CODEX))])
  Object.assign(models, { 'agent-sdk': sdk, codex })
  world = await cleanHome(sdk)
  const overrides = codexArgs(codex).args.filter(arg => arg !== '-c')
  await mkdir(path.join(world.home, '.codex'), { recursive: true })
  server = await startServerProcess(['--port', '0', '--project', world.project], {
    ...world.env,
    CHIRALITY_HOME: path.join(world.home, 'chirality'),
    CHIRALITY_CLAUDE_BIN: claudeBinary(),
    CHIRALITY_CODEX_BIN: codexBinary().path,
    CHIRALITY_CODEX_CONFIG: JSON.stringify([
      ...overrides,
      'model_providers.scripted.env_key="CODEX_API_KEY"',
      'model="gpt-5.5"',
    ]),
    CODEX_API_KEY: 'sk-scripted-model',
  })
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser?.close()
  await server?.stop()
  await Promise.all(Object.values(models).map(model => model.close()))
  await world?.dispose()
})

test.each([
  { harness: 'agent-sdk', name: 'Agent SDK', made: 'made-by-sdk.txt' },
  { harness: 'codex', name: 'Codex', made: 'made-by-codex.txt' },
])(
  'a real $name: it streams, asks, does what was allowed, and remembers',
  { timeout: 120_000 },
  async agent => {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    const complaints = collectComplaints(page)
    const talk = page.getByRole('region', { name: 'Conversation' })
    const send = page.getByRole('button', { name: 'Send', exact: true })
    const say = async (text: string) => {
      await page.getByRole('textbox', { name: 'Message' }).fill(text)
      await page.keyboard.press('Enter')
    }

    await page.goto(await server.newLink())
    await page.getByRole('button', { name: 'New session' }).first().click()
    const dialog = page.getByRole('dialog', { name: 'New session' })
    await choose(dialog, 'Agent', agent.name)
    await choose(dialog, 'Permissions', PERMISSION_WORDS.default.label)
    await dialog.getByRole('button', { name: 'Start' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'Files' }).click()

    // A tool that is asked about, answered by a key.
    await say('Make a file.')
    await talk
      .getByText('I make the file that is missing, so that there is one.')
      .waitFor({ timeout: 60_000 })
    await talk.getByText('Run this command?').waitFor()
    await talk.getByText(agent.made).first().waitFor()
    await page.keyboard.press('Escape')
    await cardWithKeys(page).waitFor()
    await page.keyboard.press('a')

    // What it says then comes piece by piece, and what it did is in the tree of files.
    await talk.getByText(/^The file is made,\s*$/).waitFor({ timeout: 60_000 })
    expect(models[agent.harness]?.release()).toBe(1)
    await talk.getByText('The file is made, and it says so in one word.').waitFor({ timeout: 60_000 })
    await page.getByRole('treeitem', { name: agent.made }).waitFor()
    await send.waitFor()

    // A follow-up goes on with the same conversation.
    await say('Which file was it?')
    await talk.getByText('It was the one that I made before.').waitFor({ timeout: 60_000 })
    const asked = askedWith(models[agent.harness], 'Which file was it?')
    expect(asked).toContain('Make a file.')
    expect(asked).toContain(`echo made > ${agent.made}`)
    await send.waitFor()
    await page.getByRole('contentinfo').getByText(agent.name).waitFor()
    expect(complaints).toEqual([])
    await page.close()
  },
)
