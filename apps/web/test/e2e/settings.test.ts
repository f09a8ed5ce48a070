import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { mkdtemp, realpath } from 'node:fs/promises'
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

let browser: Browser
let folder: string
let project: string
let server: ServerProcess

beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'chirality-settings-')))
  project = path.join(folder, 'parcel-api')
  mkdirSync(path.join(project, 'agents'), { recursive: true })
  server = await startServerProcess(['--port', '0', '--project', project], {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    TMPDIR: folder,
    CHIRALITY_HOME: path.join(folder, 'data'),
  })
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser?.close()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function openSettings(section: string, options = DESK): Promise<Page> {
  const context = await browser.newContext(options)
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const complaints = collectComplaints(page)
  onTestFinished(() => expect(complaints).toEqual([]))
  await page.goto(await server.newLink())
  await page.getByRole('link', { name: 'Settings' }).first().waitFor()
  await page.goto(`${server.url}/settings/${section}`)
  return page
}

const overhang = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)

test('a persona is written by keyboard, checked while typing, and its grants are allowed as they were saved', async () => {
  const page = await openSettings('personas')
  const file = path.join(project, 'agents/AGENT_REVIEWER.md')
  await page.getByRole('button', { name: 'New persona' }).press('Enter')
  await page.getByLabel('Name').fill('../REVIEWER')
  await page.keyboard.press('Control+s')
  await page.getByRole('alert').getByText('A name has letters').waitFor()
  await page.getByLabel('Name').fill('REVIEWER')
  const text = page.getByRole('textbox', { name: 'File', exact: true })
  await text.fill('---\n# mine\ntools: Read\ntool: Grep\n---\nReview.\n')
  const preview = page.getByRole('region', { name: 'Preview' })
  await preview.getByText('"tool" is not a key of a persona').waitFor()
  await preview.getByRole('button', { name: 'Line 4' }).press('Enter')
  await page.keyboard.type('auto_approve_tools: ["Bash(git log *)"]')
  await preview.getByText('This text can be used.').waitFor()
  await preview.getByText('Bash(git log *)', { exact: true }).waitFor()
  await preview.getByRole('region', { name: 'The prompt' }).getByText('Review.').waitFor()
  await text.press('Control+s')

  await page.getByRole('textbox', { name: 'agents/AGENT_REVIEWER.md' }).waitFor()
  const saved = '---\n# mine\ntools: Read\nauto_approve_tools: ["Bash(git log *)"]\n---\nReview.\n'
  expect(readFileSync(file, 'utf8')).toBe(saved)
  await page.getByRole('button', { name: 'Allow this text' }).press('Enter')
  await page.getByText('You allowed this text to use Bash(git log *) without asking.').waitFor()

  // Another text has to be allowed again.
  await page.getByRole('textbox', { name: 'agents/AGENT_REVIEWER.md' }).fill(`${saved}More.\n`)
  await page.keyboard.press('Control+s')
  await page.getByRole('button', { name: 'Allow this text' }).waitFor()
  expect(readFileSync(file, 'utf8')).toBe(`${saved}More.\n`)
  expect(await axeViolations(page)).toEqual([])
})

test('a file that changed on the disk is shown against the own text, and overwritten only when told', async () => {
  const file = path.join(project, 'agents/AGENT_WRITER.md')
  writeFileSync(file, '---\r\n# kept\r\ndescription: Docs only\r\n---\r\nWrite.\r\n')
  const page = await openSettings('personas', PHONE)
  await page.getByRole('button', { name: 'WRITER Docs only' }).tap()
  const text = page.getByRole('textbox', { name: 'agents/AGENT_WRITER.md' })
  await text.fill(`${(await text.inputValue()).trim()}\nMine.\n`)
  writeFileSync(file, '---\r\ndescription: Docs only\r\n---\r\nTheirs.\r\n')
  await page.getByRole('button', { name: 'Save' }).tap()
  const conflict = page.getByRole('region', { name: 'The file has changed' })
  await conflict.getByText('Nothing was saved.').waitFor()
  await conflict.getByText('Theirs.').waitFor()
  expect(await overhang(page)).toBe(0)
  expect(await axeViolations(page)).toEqual([])
  expect(readFileSync(file, 'utf8')).toContain('Theirs.')
  await conflict.getByRole('button', { name: 'Save mine over it' }).tap()
  await conflict.waitFor({ state: 'detached' })
  // The line ends and the comment are those of the file.
  expect(readFileSync(file, 'utf8')).toBe(
    '---\r\n# kept\r\ndescription: Docs only\r\n---\r\nWrite.\r\nMine.\r\n',
  )

  await page.getByRole('button', { name: 'Delete' }).tap()
  await page.getByRole('button', { name: 'Delete the file' }).tap()
  await page.getByRole('button', { name: 'WRITER Docs only' }).waitFor({ state: 'detached' })
  expect(() => readFileSync(file)).toThrow('ENOENT')
})

test('a tool server is added, shown before it runs for the first time, tried, and removed, on a phone', async () => {
  const program = path.join(folder, 'tracker.mjs')
  writeFileSync(
    program,
    `import { createInterface } from 'node:readline'
    const say = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
    createInterface({ input: process.stdin }).on('line', line => {
      const { id, method } = JSON.parse(line)
      if (method === 'initialize')
        say(id, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 't', version: '1' } })
      if (method === 'tools/list') say(id, { tools: [{ name: 'search_issues', inputSchema: { type: 'object' } }] })
    })`,
  )
  const page = await openSettings('tools', PHONE)
  await page.getByRole('button', { name: 'Add a server' }).tap()
  const form = page.getByRole('form', { name: 'New tool server' })
  await form.getByLabel('Name').fill('tracker')
  await form.getByLabel('Command').fill(process.execPath)
  await form.getByLabel('Arguments').fill(program)
  await form.getByLabel('Variables').fill('TRACKER_KEY=key-123456')
  expect(await axeViolations(page)).toEqual([])
  await form.getByRole('button', { name: 'Save' }).tap()
  await form.waitFor({ state: 'detached' })

  const own = page.getByRole('region', { name: 'Yours, for this project' })
  await own.getByText('with TRACKER_KEY, not shown').waitFor()
  await own.getByRole('button', { name: 'Try tracker' }).tap()
  const before = own.getByRole('group', { name: 'Before tracker is tried' })
  await before.getByText(`${process.execPath} ${program}`).waitFor()
  expect(await overhang(page)).toBe(0)
  expect(await axeViolations(page)).toEqual([])
  await before.getByRole('button', { name: 'Run it' }).tap()
  await own.getByText('search_issues').waitFor()

  // Its value stays, and is nowhere on the page.
  await own.getByRole('button', { name: 'Edit tracker' }).tap()
  const edit = page.getByRole('form', { name: 'Edit tracker' })
  expect(await edit.getByLabel('Variables').inputValue()).toBe('TRACKER_KEY=••••••')
  await edit.getByRole('button', { name: 'Save' }).tap()
  await edit.waitFor({ state: 'detached' })
  expect(await page.content()).not.toContain('key-123456')
  await own.getByRole('button', { name: 'Remove tracker' }).tap()
  await page.getByText('No tool servers').waitFor()
})

test('raw logs are kept as long as is chosen, and what would go is shown before it is deleted, by keyboard and on a phone', async () => {
  const folderOfLogs = path.join(project, '.chirality/logs/claude-code')
  mkdirSync(folderOfLogs, { recursive: true })
  const rawLog = (name: string, daysAgo: number) => {
    const file = path.join(folderOfLogs, `20200101T000000000Z-${name}-t.ndjson`)
    writeFileSync(file, 'x'.repeat(2 ** 20))
    const at = new Date(Date.now() - daysAgo * 24 * 60 * 60 * 1000)
    utimesSync(file, at, at)
    return file
  }
  const [old, recent] = [rawLog('old', 40), rawLog('recent', 1)]
  const desk = await openSettings('data')
  const use = desk.getByRole('region', { name: 'Disk use' })
  await use.getByText('raw logs 2.0 MB').waitFor()
  const choice = desk.getByRole('form', { name: 'How long raw logs are kept' })
  expect(await choice.getByRole('button', { name: 'Prune now…' }).isDisabled()).toBe(true)
  await choice.getByRole('radio', { name: 'Keep all' }).focus()
  // Held until it is chosen: the group chooses while the key is down, after its own event.
  await desk.keyboard.down('ArrowRight')
  await choice.getByRole('radio', { name: 'Some days', checked: true }).waitFor()
  await desk.keyboard.up('ArrowRight')
  await choice.getByLabel('Days').fill('many')
  await choice.getByRole('alert').getByText('Give a whole number of days.').waitFor()
  await choice.getByLabel('Days').fill('30')
  await desk.keyboard.press('Enter')
  await expect
    .poll(() => readFileSync(path.join(folder, 'data/raw-logs.json'), 'utf8'), { timeout: 60_000 })
    .toBe('{"keep":"days","days":30}\n')
  // Disabled while it saves.
  const pruneNow = choice.getByRole('button', { name: 'Prune now…', disabled: false })
  await pruneNow.waitFor()
  await pruneNow.press('Enter')
  const plan = choice.getByRole('group', { name: 'What would be deleted' })
  await plan.getByText('1 raw log, 1.0 MB').waitFor()
  expect(await axeViolationsInBothSchemes(desk)).toEqual([])
  expect(existsSync(old)).toBe(true)
  await plan.getByRole('button', { name: 'Delete 1 raw log' }).press('Enter')
  await use.getByText('raw logs 1.0 MB').waitFor()
  expect([existsSync(old), existsSync(recent)]).toEqual([false, true])

  const phone = await openSettings('data', PHONE)
  const there = phone.getByRole('form', { name: 'How long raw logs are kept' })
  await there.waitFor()
  // The sections are a row that scrolls, with the chosen one in view.
  const chosen = await phone.getByRole('link', { name: 'Data' }).boundingBox()
  expect((chosen?.x ?? 0) + (chosen?.width ?? 0)).toBeLessThanOrEqual(PHONE.viewport.width)
  expect(await there.getByLabel('Days').inputValue()).toBe('30')
  await there.getByRole('radio', { name: 'Up to a size' }).tap()
  await there.getByLabel('Gigabytes').fill('0.0001')
  await there.getByRole('button', { name: 'Prune now…' }).tap()
  await there.getByText('1 raw log, 1.0 MB').waitFor()
  expect(await overhang(phone)).toBe(0)
  expect(await axeViolations(phone)).toEqual([])
  await there.getByRole('button', { name: 'Keep them' }).tap()
  expect(existsSync(recent)).toBe(true)
})

test('an agent is added by its command, shown before it runs, tried with what it says, and removed, on a phone', async () => {
  const program = path.join(folder, 'agent.mjs')
  writeFileSync(
    program,
    `process.stdin.on('data', chunk => {
      const { id } = JSON.parse(String(chunk))
      const protocolVersion = Number(process.argv[2])
      const result = { protocolVersion, agentInfo: { name: 'a', version: '4.2' }, agentCapabilities: { loadSession: true } }
      console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })`,
  )
  const page = await openSettings('agents', PHONE)
  const own = page.getByRole('region', { name: 'Agents you added' })
  const add = async (name: string, version: string) => {
    await own.getByRole('button', { name: 'Add an agent' }).tap()
    const form = page.getByRole('form', { name: 'New agent' })
    await form.getByLabel('Name').fill(name)
    await form.getByLabel('Command').fill(process.execPath)
    await form.getByLabel('Arguments').fill(`${program}\n${version}`)
    return form
  }
  const form = await add('Mine!', '1')
  await form.getByRole('button', { name: 'Add' }).tap()
  await form.getByRole('alert').getByText('lower-case letters').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await form.getByLabel('Name').fill('mine')
  await form.getByLabel('Variables').fill('MY_KEY')
  await form.getByRole('button', { name: 'Add' }).tap()
  await form.waitFor({ state: 'detached' })
  await own.getByText('gets MY_KEY').waitFor()
  // It is among the agents of the machine at once.
  await page.locator('.checklist__name', { hasText: 'mine' }).waitFor()

  await own.getByRole('button', { name: 'Try mine' }).tap()
  const before = own.getByRole('group', { name: 'Before mine is tried' })
  await before.getByText(`${process.execPath} ${program} 1`).waitFor()
  expect(await overhang(page)).toBe(0)
  expect(await axeViolations(page)).toEqual([])
  await before.getByRole('button', { name: 'Run it' }).tap()
  await own.getByText('version 4.2').waitFor()

  await (await add('future', '99')).getByRole('button', { name: 'Add' }).tap()
  await own.getByRole('button', { name: 'Try future' }).tap()
  await own.getByRole('button', { name: 'Run it' }).tap()
  await own.getByText('It speaks version 99').waitFor()
  await own.getByRole('button', { name: 'Remove future' }).tap()
  await own.getByRole('button', { name: 'Remove mine' }).tap()
  await own.getByText('gets MY_KEY').waitFor({ state: 'detached' })
})

test('worktrees are set up by a form, in the place of the file of the project, by keyboard and on a phone', async () => {
  const file = path.join(project, '.chirality/workspace.yaml')
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, "copy: ['.env*']\ncommand: npm run db\nvariables: { PORT: '{port}' }\n")
  onTestFinished(() => rmSync(file))
  const desk = await openSettings('worktrees')
  const theirs = desk.getByRole('region', { name: 'Of the project itself' })
  await theirs.getByText('Nothing of it is done until you allowed exactly this text').waitFor()
  const form = desk.getByRole('form', { name: 'Your set-up' })
  await theirs.getByRole('button', { name: 'Copy it into yours' }).press('Enter')
  await expect.poll(() => form.getByLabel('Files to copy').inputValue()).toBe('.env*')
  // What it would run is read before it is saved, and what is typed is not replaced without a word.
  await theirs.getByText('command: npm run db').waitFor()
  await form.getByLabel('Command', { exact: true }).fill('typed')
  await theirs.getByRole('button', { name: 'Replace what you typed with it' }).click()
  await expect.poll(() => form.getByLabel('Command', { exact: true }).inputValue()).toBe('npm run db')
  await form.getByLabel('Files to copy').fill('.env*\n../secrets')
  await desk.keyboard.press('Control+Enter')
  await form.getByRole('alert').getByText('copy: ../secrets is no path below the project').waitFor()
  expect(await axeViolationsInBothSchemes(desk)).toEqual([])
  await form.getByLabel('Files to copy').fill('.env*')
  await form.getByLabel('Folders to share').fill('node_modules')
  await form.getByLabel('Variables').fill('PORT={port}\nDATABASE')
  await desk.keyboard.press('Control+Enter')
  await form.getByRole('alert').getByText('"DATABASE" is no NAME=value.').waitFor()
  await form.getByLabel('Variables').fill('PORT={port}\nDATABASE=shop_{name}')
  await form.getByLabel('Time limit').fill('5')
  await desk.keyboard.press('Enter')
  await theirs.getByText('It is not used, because yours takes its place.').waitFor()
  const kept = path.join(folder, 'data/setups')
  const own = JSON.parse(readFileSync(path.join(kept, readdirSync(kept)[0] ?? ''), 'utf8')) as object
  expect(own).toEqual({
    ...{ projectRoot: project, copy: ['.env*'], share: ['node_modules'], clone: [], minutes: 5 },
    ...{ command: 'npm run db', variables: { PORT: '{port}', DATABASE: 'shop_{name}' } },
  })

  const phone = await openSettings('worktrees', PHONE)
  const there = phone.getByRole('form', { name: 'Your set-up' })
  expect(await there.getByLabel('Variables').inputValue()).toBe('PORT={port}\nDATABASE=shop_{name}')
  expect(await overhang(phone)).toBe(0)
  expect(await axeViolations(phone)).toEqual([])
  await there.getByRole('button', { name: 'Remove' }).tap()
  await phone.getByText('A set-up that you save below takes its place.').waitFor()
  expect(readdirSync(kept)).toEqual([])
})
