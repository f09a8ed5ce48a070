import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { claudeBinary, cleanHome } from '@chirality/fixtures'
import { type Script, startScriptedModel } from '@chirality/scripted-model'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { choose } from '../support/choose.ts'
import { collectComplaints } from '../support/complaints.ts'
import { startServerProcess } from '../support/server-process.ts'

const LINES = Array.from({ length: 40 }, (_, i) => `export const line${i + 1} = ${i + 1}`)

/** A server with an agent, a project with one commit, and a browser that is signed in. */
async function startWorld(answers: NonNullable<Script['answers']> = []) {
  const model = await startScriptedModel({ answers, otherwise: 'Still here.' })
  const { home, project, env, dispose } = await cleanHome(model)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'protocol.file.allow=always', ...args], {
      cwd: project,
      env,
      encoding: 'utf8',
    })
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'A User')
  git('config', 'user.email', 'user@example')
  await mkdir(path.join(project, 'folder'))
  await writeFile(path.join(project, 'lines.ts'), `${LINES.join('\n')}\n`)
  await writeFile(path.join(project, 'gone.txt'), 'one\ntwo\n')
  await writeFile(path.join(project, 'folder/inner.txt'), 'inner\n')
  git('add', '.')
  git('commit', '-qm', 'first')
  const start = () =>
    startServerProcess(['--port', '0', '--project', project], {
      ...{ ...env, CHIRALITY_HOME: path.join(home, 'chirality'), CHIRALITY_CLAUDE_BIN: claudeBinary() },
    })
  let server = await start()
  /** Its sessions rest then: none of them is opened before somebody does something with it. */
  const restart = async () => {
    await server.stop()
    server = await start()
  }
  const browser = await launchBrowser()
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  onTestFinished(async () => {
    await browser.close()
    await server.stop()
    await model.close()
    await dispose()
  })
  const call = async (name: string, input: object): Promise<unknown> => {
    const answer = await fetch(`${server.url}/trpc/${name}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(input),
    })
    const { result, error } = (await answer.json()) as { result?: { data: unknown }; error?: object }
    return result?.data ?? error
  }
  const open = async (worktree: boolean) => {
    const asked = { project, harness: 'claude-code', title: 'Review', permissionMode: 'default' }
    const made = await call('sessions.create', { ...asked, ...(worktree ? { worktree: {} } : {}) })
    return (made as { id: string }).id
  }
  const complaints: string[][] = []
  const page = async (sessionId: string) => {
    const made = await context.newPage()
    complaints.push(collectComplaints(made))
    await made.goto(complaints.length === 1 ? server.link : server.url)
    await made.locator('.sheet').waitFor()
    await made.goto(`${server.url}/s/${sessionId}`)
    await made.getByRole('textbox', { name: 'Message' }).waitFor()
    return made
  }
  return { project, git, server, restart, call, open, context, page, complaints }
}

/** The folder of the only worktree. */
const worktreeOf = (git: (...args: string[]) => string) =>
  git('worktree', 'list', '--porcelain')
    .match(/^worktree (.*)$/gm)
    ?.at(-1)
    ?.slice(9) ?? ''

const reviewOf = (page: Page) => page.getByRole('region', { name: 'Review' })
const fileOf = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const alertOf = (page: Page) => reviewOf(page).getByRole('alert')
const discardFile = (page: Page, name: string) =>
  fileOf(page, name).getByRole('button', { name: 'Discard the file’s changes' }).click()

test('files that vanish or change their kind under a review: what is not there any more is refused, and shown as it is', {
  timeout: 600_000,
}, async () => {
  const { git, open, page: openPage, complaints } = await startWorld()
  const sessionId = await open(true)
  const folder = worktreeOf(git)
  const at = (name: string) => path.join(folder, name)
  await writeFile(at('gone.txt'), 'one\ntwo changed\n')
  await writeFile(at('new.txt'), 'new\n')
  await mkdir(at('data'))
  await writeFile(at('data/a.txt'), 'a\n')
  const page = await openPage(sessionId)
  await reviewOf(page).getByText('3 files to commit').waitFor()

  // A new file that is deleted meanwhile.
  await fileOf(page, 'new.txt').waitFor()
  await rm(at('new.txt'))
  await discardFile(page, 'new.txt')
  await alertOf(page).getByText('new.txt has no such change any more', { exact: false }).waitFor()
  await fileOf(page, 'new.txt').waitFor({ state: 'detached' })
  await reviewOf(page).getByText('2 files to commit').waitFor()

  // A hunk of a file that is deleted meanwhile: the file is not brought back by it, but by discarding the deletion.
  await rm(at('gone.txt'))
  await fileOf(page, 'gone.txt').getByRole('button', { name: 'Discard', exact: true }).click()
  await alertOf(page).getByText('A change in gone.txt is not as it was shown', { exact: false }).waitFor()
  expect(existsSync(at('gone.txt'))).toBe(false)
  await fileOf(page, 'gone.txt').getByText('deleted', { exact: true }).waitFor()
  await discardFile(page, 'gone.txt')
  await reviewOf(page).getByText('Discarded gone.txt').waitFor()
  expect(await readFile(at('gone.txt'), 'utf8')).toBe('one\ntwo\n')
  await fileOf(page, 'gone.txt').waitFor({ state: 'detached' })

  // A new folder becomes a file.
  await rm(at('data'), { recursive: true })
  await writeFile(at('data'), 'a file\n')
  await discardFile(page, 'data/a.txt')
  await alertOf(page).getByText('data/a.txt', { exact: false }).waitFor()
  expect(await readFile(at('data'), 'utf8')).toBe('a file\n')
  await fileOf(page, 'data').waitFor()
  await fileOf(page, 'data/a.txt').waitFor({ state: 'detached' })
  await discardFile(page, 'data')
  await reviewOf(page).getByText('Discarded data', { exact: true }).waitFor()
  expect(existsSync(at('data'))).toBe(false)

  // A folder of the commit becomes a file: what is inside can come back only with the file.
  await rm(at('folder'), { recursive: true })
  await writeFile(at('folder'), 'in its place\n')
  await page.reload()
  await fileOf(page, 'folder/inner.txt').waitFor()
  await discardFile(page, 'folder/inner.txt')
  await alertOf(page).waitFor()
  const refusal = await alertOf(page).textContent()
  expect(refusal).toContain('folder')
  expect(await readFile(at('folder'), 'utf8')).toBe('in its place\n')
  await discardFile(page, 'folder')
  await reviewOf(page).getByText('Discarded folder', { exact: true }).waitFor()
  expect(await readFile(at('folder/inner.txt'), 'utf8')).toBe('inner\n')
  await page.getByText('Nothing changed').waitFor()
  expect(complaints.flat()).toEqual([])
})

test('two tabs on one hunk: it is taken back once, the other tab says so; nothing is taken back while the agent works', {
  timeout: 600_000,
}, async () => {
  const {
    git,
    server,
    call,
    open,
    page: openPage,
    complaints,
  } = await startWorld([
    { text: 'One moment.', tool: 'Bash', input: { command: 'echo agent >> lines.ts' } },
    'Done.',
  ])
  const sessionId = await open(true)
  const folder = worktreeOf(git)
  const file = path.join(folder, 'lines.ts')
  const edited = LINES.with(1, 'export const line2 = 200').with(38, 'export const line39 = 3900')
  await writeFile(file, `${edited.join('\n')}\n`)
  const tabs = [await openPage(sessionId), await openPage(sessionId)] as const
  const last = (page: Page) =>
    fileOf(page, 'lines.ts')
      .getByRole('group', { name: 'Change 2 of 2', exact: false })
      .getByRole('button', { name: 'Discard', exact: true })
  const buttons = await Promise.all(tabs.map(tab => last(tab).elementHandle()))
  for (const tab of tabs) await reviewOf(tab).getByText('1 file to commit').waitFor()

  // Neither hears of the other before it asks.
  process.kill(server.pid, 'SIGSTOP')
  await Promise.all(buttons.map(button => button?.evaluate(element => (element as HTMLElement).click())))
  process.kill(server.pid, 'SIGCONT')
  await Promise.any(
    tabs.map(tab => alertOf(tab).getByText('not as it was shown', { exact: false }).waitFor()),
  )
  for (const tab of tabs) {
    await reviewOf(tab).getByText('Discarded a change in lines.ts').waitFor()
    await fileOf(tab, 'lines.ts').getByText('3900').waitFor({ state: 'detached' })
  }
  const once = `${edited.with(38, LINES[38] ?? '').join('\n')}\n`
  expect(await readFile(file, 'utf8')).toBe(once)
  const refused = await Promise.all(tabs.map(tab => alertOf(tab).count()))
  expect(refused.sort()).toEqual([0, 1])

  // The hunk that a tab stood at is gone: its key takes nothing else.
  const [first, second] = tabs
  await fileOf(second, 'lines.ts').getByRole('group', { name: 'Change 1 of 1', exact: false }).focus()
  await reviewOf(first).getByRole('button', { name: 'Undo' }).click()
  await fileOf(second, 'lines.ts').getByText('3900').first().waitFor()
  await second.keyboard.press('.')
  await expect
    .poll(() => second.locator('.hunk--current').getAttribute('aria-label'))
    .toContain('Change 2 of 2')
  await second.getByRole('button', { name: 'Side by side' }).focus()
  await last(first).click()
  await fileOf(second, 'lines.ts').getByText('3900').waitFor({ state: 'detached' })
  await second.keyboard.press('x')
  await second.keyboard.press(',')
  await second.locator('.hunk--current').waitFor()
  expect(await readFile(file, 'utf8')).toBe(once)

  // The agent is at work: nothing can be discarded on either page, and a call is refused.
  await first.getByRole('textbox', { name: 'Message' }).fill('Go on.')
  await first.keyboard.press('Enter')
  for (const tab of tabs) {
    await tab.getByText('Run this command?').waitFor({ timeout: 60_000 })
    await reviewOf(tab).getByText('The agent is at work', { exact: false }).waitFor()
    await expect.poll(() => tab.getByRole('button', { name: 'Discard', exact: true }).count()).toBe(0)
  }
  await second.keyboard.press('Shift+X')
  const answer = await call('review.discard', { sessionId, files: [{ path: 'lines.ts' }] })
  expect(JSON.stringify(answer)).toContain('is at work in')
  expect(await readFile(file, 'utf8')).toBe(once)
  await first
    .getByRole('button', { name: /^Allow/ })
    .first()
    .click()
  // In the conversation: the list of sessions may have the last line, too.
  const talk = first.getByRole('region', { name: 'Conversation' })
  await talk.getByText('Done.', { exact: true }).waitFor({ timeout: 60_000 })
  await expect.poll(() => readFile(file, 'utf8')).toBe(`${once}agent\n`)
  await reviewOf(second).getByText('1 file to commit').waitFor()
  expect(complaints.flat()).toEqual([])
})

test('after a restart a session in a worktree shows its own review and files, and a session in the project never shows them', {
  timeout: 600_000,
}, async () => {
  const { project, git, restart, open, context, page: openPage, complaints } = await startWorld()
  const inWorktree = await open(true)
  const inProject = await open(false)
  await writeFile(path.join(worktreeOf(git), 'of-worktree.txt'), 'w\n')
  await writeFile(path.join(project, 'of-project.txt'), 'p\n')
  await restart()

  // Holds what is asked about the files of the project, so that only what the page remembers can be shown.
  const held: (() => void)[] = []
  let holds = false
  await context.routeWebSocket(/.*/, socket => {
    const toServer = socket.connectToServer()
    socket.onMessage(message => {
      const isHeld = holds && String(message).includes('"files.tree"')
      if (isHeld) held.push(() => toServer.send(message))
      else toServer.send(message)
    })
  })
  const page = await openPage(inWorktree)
  await reviewOf(page).getByText('1 file to commit').waitFor()
  await fileOf(page, 'of-worktree.txt').waitFor()
  await page.getByRole('tab', { name: 'Files' }).click()
  const entry = (name: string) => page.getByRole('treeitem', { name })
  await entry('of-worktree.txt').waitFor()
  expect(await entry('of-project.txt').count()).toBe(0)

  holds = true
  await page.locator(`a[href="/s/${inProject}"]`).first().click()
  await page.waitForURL(`**/s/${inProject}`)
  await page.getByRole('tab', { name: 'Files' }).click()
  await expect.poll(() => held.length).toBeGreaterThan(0)
  expect(await entry('of-worktree.txt').count()).toBe(0)
  holds = false
  for (const release of held) release()
  await entry('of-project.txt').waitFor()
  expect(await entry('of-worktree.txt').count()).toBe(0)
  expect(complaints.flat()).toEqual([])
})

test('a submodule at another commit is said, and never "Nothing changed"', { timeout: 600_000 }, async () => {
  const further = 'git -C lib -c user.name=me -c user.email=me@example commit -q --allow-empty -m further'
  const {
    project,
    git,
    open,
    page: openPage,
    complaints,
  } = await startWorld([
    { tool: 'Bash', input: { command: further } },
    'It is moved.',
    { tool: 'Bash', input: { command: `${further} && git commit -qam bump` } },
    'It is committed.',
  ])
  git('submodule', '--quiet', 'add', project, 'lib')
  git('commit', '-qm', 'with a submodule')
  const inLib = (...args: string[]) => git('-C', 'lib', ...args)
  const before = inLib('rev-parse', 'HEAD').trim()
  const sessionId = await open(false)
  const page = await openPage(sessionId)
  await page.getByText('Nothing changed').waitFor()
  const user = ['-c', 'user.name=A User', '-c', 'user.email=user@example']
  inLib(...user, 'commit', '-q', '--allow-empty', '-m', 'further')
  const after = inLib('rev-parse', 'HEAD').trim()
  await page.reload()
  await page
    .getByText(`The submodule lib is at another commit: ${before.slice(0, 9)} → ${after.slice(0, 9)}.`, {
      exact: false,
    })
    .waitFor()
  expect(await page.getByText('Nothing changed').count()).toBe(0)

  // By a turn, without a commit and with one.
  const commits = [after]
  for (const [message, answer] of [
    ['Move it.', 'It is moved.'],
    ['Commit it.', 'It is committed.'],
  ] as const) {
    await page.getByRole('textbox', { name: 'Message' }).fill(message)
    await page.keyboard.press('Enter')
    await page.getByText('Run this command?').waitFor({ timeout: 60_000 })
    await page
      .getByRole('button', { name: /^Allow/ })
      .first()
      .click()
    await page.getByText(answer, { exact: true }).first().waitFor({ timeout: 60_000 })
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
    commits.push(inLib('rev-parse', 'HEAD').trim())
    await choose(page, 'Changes of', `Turn ${commits.length - 1} · ${message}`)
    const [from = '', to = ''] = commits.slice(-2).map(commit => commit.slice(0, 9))
    await page
      .getByText(`The submodule lib was set to another commit: ${from} → ${to}.`, { exact: false })
      .waitFor()
    expect(await page.getByText('Nothing changed').count()).toBe(0)
  }
  await choose(page, 'Changes of', 'Since the last commit')
  await page.getByText('Nothing changed').waitFor()

  await rm(path.join(project, 'lib'), { recursive: true })
  await page.reload()
  await page.getByText('The submodule lib is gone.', { exact: false }).waitFor()
  expect(complaints.flat()).toEqual([])
})
