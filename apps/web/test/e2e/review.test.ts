import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { claudeBinary, cleanHome } from '@chirality/fixtures'
import { startScriptedModel } from '@chirality/scripted-model'
import { expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { askedWith } from '../support/asked-with.ts'
import { axeViolations, axeViolationsInBothSchemes } from '../support/axe.ts'
import { collectComplaints } from '../support/complaints.ts'
import { cardWithKeys } from '../support/keys.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'

const LINES = Array.from({ length: 40 }, (_, i) => `export const line${i + 1} = ${i + 1}`)
const EDIT =
  "sed -i 's/^export const line2 = .*/export const line2 = 200/; s/^export const line39 = .*/export const line39 = 3900/' src/lines.ts; echo 'Two lines changed.' > notes.md"

/** Keeps both sides. */
const RESOLVE = "sed -i -e '/^<<<<<<< /d' -e '/^=======$/d' -e '/^>>>>>>> /d' src/lines.ts"

test('by keyboard alone: review, discard and undo, comment, commit, merge, push; back to before a turn, and undone; a conflict handed over', {
  timeout: 600_000,
}, async () => {
  const model = await startScriptedModel({
    answers: [
      { text: 'I change two lines.', tool: 'Bash', input: { command: EDIT } },
      'Both are changed.',
      { text: 'One file more.', tool: 'Bash', input: { command: 'echo second > second.txt' } },
      'It is there.',
      { text: 'I keep both.', tool: 'Bash', input: { command: RESOLVE } },
      'Resolved.',
    ],
    otherwise: 'Still here.',
  })
  const { home, project, env, dispose } = await cleanHome(model)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: project, env, encoding: 'utf8' })
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'A User')
  git('config', 'user.email', 'user@example')
  await mkdir(path.join(project, 'src'))
  await writeFile(path.join(project, 'src/lines.ts'), `${LINES.join('\n')}\n`)
  git('add', '.')
  git('commit', '-qm', 'first')
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
  const { id: sessionId } = await call<{ id: string }>(server, 'sessions.create', {
    ...{ project, harness: 'claude-code', title: 'Larger numbers', permissionMode: 'default', worktree: {} },
  })
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  const complaints = collectComplaints(page)
  await page.goto(server.link)
  await page.locator('.sheet').waitFor()
  await page.evaluate(to => history.pushState(null, '', to), `/s/${sessionId}`)
  await page.reload()
  const talk = page.getByRole('region', { name: 'Conversation' })
  const keys = page.keyboard
  /** One message by keys, with the command it leads to allowed once the files before it are recorded. */
  const say = async (text: string, answer: string, turns: number) => {
    await keys.press('Escape')
    await keys.press('i')
    await keys.type(text)
    await keys.press('Enter')
    await talk.getByText('Run this command?').waitFor({ timeout: 60_000 })
    await expect.poll(() => recordedTurns(project, sessionId), { timeout: 60_000 }).toBe(turns)
    await keys.press('Escape')
    await cardWithKeys(page).waitFor()
    await keys.press('a')
    await talk.getByText(answer).waitFor({ timeout: 60_000 })
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  }
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  await say('Make the numbers larger.', 'Both are changed.', 1)

  // Both files are there, and what can be done with them.
  const review = page.getByRole('region', { name: 'Review' })
  await review.getByText('2 files to commit').waitFor()
  const changed = page.getByRole('group', { name: /^Change \d of \d/ })
  const current = page.locator('.hunk--current')
  const lines = page.getByRole('region', { name: 'src/lines.ts' })
  await expect.poll(() => changed.count()).toBe(3)

  // Who wrote a line, and who wrote the one that it replaced.
  const who = page.locator('.who-wrote')
  const written = lines.locator('.diff__line--add .diff__number').last()
  await written.focus()
  await who.getByRole('link', { name: '“Make the numbers larger.”' }).waitFor()
  await lines.locator('.diff__line--del .diff__number').last().focus()
  await who.getByText(/^Commit [0-9a-f]{9} .+: first$/).waitFor()
  await keys.press('Escape')
  await who.waitFor({ state: 'detached' })

  // The second change of the second file goes, and comes back.
  for (let step = 0; step < 3; step++) await keys.press('.')
  await expect.poll(() => current.getAttribute('aria-label')).toBe('Change 2 of 2, lines 36–40')
  await keys.press('x')
  await review.getByText('Discarded a change in src/lines.ts').waitFor()
  await lines.getByText('3900').waitFor({ state: 'detached' })
  await review.getByText('The agent is told with your next message (1)').waitFor()
  const folder = worktreeOf(git)
  const now = () => readFile(path.join(folder, 'src/lines.ts'), 'utf8')
  expect(await now()).toContain('line39 = 39\n')
  const canPress = (name: string) =>
    expect.poll(() => review.getByRole('button', { name }).isEnabled()).toBe(true)
  await canPress('Undo')
  await keys.press('u')
  await review.getByText('Undone: Discarded a change in src/lines.ts').waitFor()
  await lines.getByText('3900').first().waitFor()
  expect(await now()).toContain('line39 = 3900\n')
  // The undo is undone, too, and done again.
  await canPress('Redo')
  await keys.press('Shift+U')
  await review.getByText(/^Discarded a change in src\/lines\.ts/).waitFor()
  await lines.getByText('3900').waitFor({ state: 'detached' })
  expect(await now()).toContain('line39 = 39\n')
  await canPress('Undo')
  await keys.press('u')
  await review.getByText('Undone: Discarded a change in src/lines.ts').waitFor()
  await lines.getByText('3900').first().waitFor()
  expect(await now()).toContain('line39 = 3900\n')
  await canPress('Redo')

  // A comment on the line, which goes with the next message.
  await keys.press('<')
  await keys.press('>')
  await keys.press('.')
  await expect.poll(() => current.getAttribute('aria-label')).toBe('Change 1 of 2, lines 1–5')
  await keys.press('l')
  await page.getByRole('textbox', { name: 'Comment' }).waitFor()
  await keys.type('Why so many?')
  await keys.press('Enter')
  await page.getByText('goes with your next message').first().waitFor()
  expect(await axeViolationsInBothSchemes(page)).toEqual([])
  await page.emulateMedia({ colorScheme: 'light' })

  await keys.press('c')
  await page.getByRole('textbox', { name: 'Message' }).last().waitFor()
  expect(await axeViolations(page)).toEqual([])
  await keys.press('Control+Enter')
  await review.getByText(/^Committed 2 files as/).waitFor()
  await page.getByText('Nothing changed').waitFor()
  await keys.press('m')
  const merge = page.getByRole('dialog', { name: 'Merge into main' })
  await merge.getByText('No merge commit is needed.').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await keys.press('Enter')
  await review.getByText(/^Merged chirality\/larger-numbers into main \(fast-forward\)\.$/).waitFor()
  expect(git('log', '--format=%s|%an', 'main').split('\n')[0]).toBe('Larger numbers|A User')
  expect(await readFile(path.join(project, 'src/lines.ts'), 'utf8')).toContain('line39 = 3900\n')

  // A push says first what it does.
  const bare = path.join(home, 'bare.git')
  git('init', '-q', '--bare', bare)
  git('remote', 'add', 'origin', bare)
  await page.reload()
  await review.getByRole('button', { name: 'Push…' }).waitFor()
  await keys.press('g')
  const pushing = page.getByRole('dialog', { name: 'Push' })
  await pushing.getByText('the remote does not have this branch yet.').waitFor()
  await pushing.getByText('Larger numbers', { exact: false }).first().waitFor()
  expect(await axeViolations(page)).toEqual([])
  await keys.press('Control+Enter')
  await review.getByText(/^Pushed chirality\/larger-numbers to origin\.$/).waitFor()
  const refs = execFileSync('git', ['-C', bare, 'for-each-ref', '--format=%(refname)'], {
    env,
    encoding: 'utf8',
  })
  expect(refs).toBe('refs/heads/chirality/larger-numbers\n')

  // The agent hears of all of it.
  await say('One more, please.', 'It is there.', 2)
  const sent = askedWith(model, 'One more, please.')
  for (const words of ['Why so many?', 'The user undid this', 'The user committed'])
    expect(sent).toContain(words)
  expect(existsSync(path.join(folder, 'second.txt'))).toBe(true)

  // Back to before it: what is restored is named first.
  await page.getByRole('button', { name: 'Back to before this turn' }).last().focus()
  await keys.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Back to before this turn' })
  await dialog.getByText('second.txt').waitFor()
  await dialog.getByText('The agent ran 1 command.', { exact: false }).waitFor()
  expect(await axeViolations(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Go back' }).focus()
  await keys.press('Enter')
  await page.getByText('You went back to before').waitFor()
  expect(existsSync(path.join(folder, 'second.txt'))).toBe(false)
  await expect
    .poll(() => page.getByRole('textbox', { name: 'Message' }).inputValue())
    .toMatch(/^One more, please\./)
  await talk.getByText('Both are changed.').waitFor()
  expect(await talk.getByText('It is there.').count()).toBe(0)
  await page.getByRole('button', { name: 'Undo going back' }).focus()
  await keys.press('Enter')
  await talk.getByText('It is there.').waitFor()
  expect(await readFile(path.join(folder, 'second.txt'), 'utf8')).toBe('second\n')
  expect(page.url()).toContain(sessionId)

  // Both sides change the same line: the conflict is shown, and the agent resolves it.
  const change = (root: string, line: string) =>
    writeFile(path.join(root, 'src/lines.ts'), `${[`// ${line}`, ...LINES.slice(1)].join('\n')}\n`)
  await change(project, 'mine')
  git('commit', '-qam', 'mine')
  await change(folder, 'of the agent')
  await page.reload()
  await review.getByText('2 files to commit').waitFor()
  await keys.press('c')
  await page.getByRole('dialog', { name: 'Commit' }).waitFor()
  await keys.press('Control+Enter')
  await review.getByText(/^Committed 2 files as/).waitFor()
  await review.getByText('conflicts in 1 file', { exact: false }).waitFor()
  await keys.press('m')
  await merge.getByText('These files conflict.', { exact: false }).waitFor()
  expect(await axeViolations(page)).toEqual([])
  // A merge would find them again.
  expect(await merge.getByRole('button', { name: 'Merge into main' }).isDisabled()).toBe(true)
  await merge.getByRole('button', { name: 'Hand to the agent' }).focus()
  await keys.press('Enter')
  await talk.getByText('Run this command?').waitFor({ timeout: 60_000 })
  // While it closes, the dialog would take Escape, and give the focus back to the field.
  await merge.waitFor({ state: 'detached' })
  await keys.press('Escape')
  await cardWithKeys(page).waitFor()
  await keys.press('a')
  await talk.getByText('Resolved.').waitFor({ timeout: 60_000 })
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await review.getByText('1 file to commit').waitFor()
  await keys.press('c')
  await page.getByRole('dialog', { name: 'Commit' }).waitFor()
  await keys.press('Control+Enter')
  await review.getByText(/^Committed 1 file as/).waitFor()
  await keys.press('m')
  await merge.getByText('No merge commit is needed.').waitFor()
  await keys.press('Enter')
  await review.getByText(/^Merged chirality\/larger-numbers into main/).waitFor()
  const both = await readFile(path.join(project, 'src/lines.ts'), 'utf8')
  expect(both.split('\n').slice(0, 2).sort()).toEqual(['// mine', '// of the agent'])
  expect(git('status', '--porcelain')).toBe('')
  expect(complaints).toEqual([])
})

/** How many turns have the files before them recorded. */
async function recordedTurns(project: string, sessionId: string): Promise<number> {
  const file = path.join(project, '.chirality/state/snapshots', `${sessionId}.json`)
  const text = await readFile(file, 'utf8').catch(() => '{}')
  return Object.keys(JSON.parse(text) as object).length
}

/** The only worktree besides the project itself. */
function worktreeOf(git: (...args: string[]) => string): string {
  const listed = git('worktree', 'list', '--porcelain').split('\n')
  return (
    listed
      .filter(line => line.startsWith('worktree '))
      .at(-1)
      ?.slice('worktree '.length) ?? ''
  )
}

async function call<T>(server: ServerProcess, name: string, input: object): Promise<T> {
  const answer = await fetch(`${server.url}/trpc/${name}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(input),
  })
  const { result } = (await answer.json()) as { result: { data: T } }
  return result.data
}
