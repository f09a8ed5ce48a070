import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { MODE_WORDS, PERMISSION_WORDS } from '@chirality/core'
import { claudeBinary, cleanHome } from '@chirality/fixtures'
import { startScriptedModel } from '@chirality/scripted-model'
import { expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { askedWith } from '../support/asked-with.ts'
import { choose } from '../support/choose.ts'
import { collectComplaints } from '../support/complaints.ts'
import { cardWithKeys } from '../support/keys.ts'
import { startServerProcess } from '../support/server-process.ts'

const PERSONA =
  '---\ndescription: Splits work into parts.\ntools: [Bash, Read]\n---\nYou are DECOMP. Split the work.\n'

test('the end-to-end test of the specification, with a real Claude Code', { timeout: 180_000 }, async () => {
  const model = await startScriptedModel({
    defaults: { chunkChars: 8, chunkDelayMs: 30 },
    answers: [
      {
        text: 'I make the file that is missing, so that there is one.',
        tool: 'Bash',
        input: { command: 'echo made > made.txt' },
      },
      'The file is made.',
      'It was made.txt, as before.',
      { text: 'This takes its time.', stallAfter: 1 },
    ],
    otherwise: 'Still here.',
  })
  const { home, project, env, dispose } = await cleanHome(model)
  await mkdir(path.join(project, 'agents'))
  await writeFile(path.join(project, 'agents', 'AGENT_DECOMP.md'), PERSONA)
  const server = await startServerProcess(['--port', '0', '--project', project], {
    ...env,
    CHIRALITY_HOME: path.join(home, 'chirality'),
    CHIRALITY_CLAUDE_BIN: claudeBinary(),
  })
  const browser = await launchBrowser()
  onTestFinished(async () => {
    await browser.close()
    await server.stop()
    await model.close()
    await dispose()
  })
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  const complaints = collectComplaints(page)
  const talk = page.getByRole('region', { name: 'Conversation' })
  const say = async (text: string) => {
    await page.getByRole('textbox', { name: 'Message' }).fill(text)
    await page.keyboard.press('Enter')
  }

  // Select the DECOMP persona, create a workbench session.
  await page.goto(server.link)
  await page.getByRole('button', { name: 'New session' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'New session' })
  await choose(dialog, 'Agent', 'Claude Code')
  await choose(dialog, 'Persona', 'DECOMP')
  await choose(dialog, 'Mode', MODE_WORDS.workbench.label)
  await choose(dialog, 'Permissions', PERMISSION_WORDS.default.label)
  await dialog.getByRole('button', { name: 'Start' }).click()

  // Send a message; the agent uses a tool.
  await talk.waitFor()
  await page.getByRole('tab', { name: 'Files' }).click()
  await page.getByRole('treeitem', { name: 'agents' }).waitFor()
  await say('Make a file.')
  await talk.getByText('Run this command?').waitFor({ timeout: 60_000 })
  await talk.getByRole('button', { name: /^Wants to run echo made/ }).waitFor()
  await page.keyboard.press('Escape')
  await cardWithKeys(page).waitFor()
  await page.keyboard.press('a')

  // Its result refreshes the file tree.
  await talk.getByText('The file is made.').waitFor()
  await page.getByRole('treeitem', { name: 'made.txt' }).waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()

  // A follow-up goes on with the same conversation.
  await say('Which file was it?')
  await talk.getByText('It was made.txt, as before.').waitFor()
  expect(askedWith(model, 'Which file was it?')).toContain('echo made > made.txt')
  expect(JSON.stringify(model.requests)).toContain('You are DECOMP. Split the work.')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()

  // Each line that the kept agent printed is with its turn, and leads to the event that it became.
  await page.getByRole('tab', { name: 'Raw' }).click()
  await page.getByRole('button', { name: 'Native lines' }).click()
  const lines = page.getByRole('group', { name: 'Native lines' })
  await lines.getByText('Turn 2').waitFor({ state: 'attached' })
  await lines.getByRole('button', { name: /^assistant.*It was made\.txt, as before\./ }).waitFor()
  // A text that was streamed is told at the end of its block.
  await lines
    .getByRole('button', { name: /^stream_event\/content_block_stop/ })
    .last()
    .click()
  await page.getByText('The event came from this line.').waitFor()
  expect(await page.getByRole('region', { name: /UI event .* as JSON/ }).textContent()).toContain(
    '"chat:message"',
  )
  await page.getByRole('tab', { name: 'Files' }).click()

  // Text streams token by token: the model says no more than this. Interrupted there, the process stops and one can write again.
  await say('Take your time.')
  await talk.getByText('This tak').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await talk.getByText('stopped', { exact: true }).waitFor({ timeout: 60_000 })
  await page.getByText(/Stopped · 0 processes (left|found), agent kept ready/).waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await say('Are you there?')
  await talk.getByText('Still here.').waitFor({ timeout: 60_000 })
  expect(complaints).toEqual([])
})

test('from npm start to the first own prompt at work: at most three actions', {
  timeout: 120_000,
}, async () => {
  const model = await startScriptedModel({ otherwise: 'It is a small library.' })
  const { home, project, env, dispose } = await cleanHome(model)
  // As `npm start` does, where one agent is installed and logged in.
  const server = await startServerProcess(['--demo', '--port', '0'], {
    ...env,
    CHIRALITY_HOME: path.join(home, 'chirality'),
    CHIRALITY_CLAUDE_BIN: claudeBinary(),
  })
  const browser = await launchBrowser()
  onTestFinished(async () => {
    await browser.close()
    await server.stop()
    await model.close()
    await dispose()
  })
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  const actions: string[] = []
  /** A click is one action, and so is something that is typed and sent with Enter. */
  const act = async (name: string, action: () => Promise<void>) => {
    actions.push(name)
    await action()
  }
  await page.goto(server.link)
  await act('go to the start page', () => page.getByRole('link', { name: 'Home', exact: true }).click())
  const folder = page.getByRole('combobox', { name: 'Folder on this machine' })
  await act('name the folder', () => folder.fill(project).then(() => page.keyboard.press('Enter')))
  const field = page.getByRole('textbox', { name: 'What should be done?' })
  await field.waitFor()
  await page.locator('.home-composer').getByText('Claude Code').waitFor()
  await act('say what should be done', () =>
    field.fill('What is this?').then(() => page.keyboard.press('Enter')),
  )
  const talk = page.getByRole('region', { name: 'Conversation' })
  await talk.getByText('It is a small library.').waitFor({ timeout: 60_000 })
  await page.getByText('project', { exact: true }).first().waitFor()
  expect(actions.length).toBeLessThanOrEqual(3)
})
