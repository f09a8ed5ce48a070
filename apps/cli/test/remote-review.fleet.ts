import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../.scripts/browser.ts'
import { call, change, started, startHub, startWorker } from './support/fleet.ts'
import { createWorld } from './support/world.ts'

const LINES = Array.from({ length: 40 }, (_, i) => `export const line${i + 1} = ${i + 1}`)
const EDIT =
  "sed -i 's/^export const line2 = .*/export const line2 = 200/; s/^export const line39 = .*/export const line39 = 3900/' lines.ts; echo 'Two lines changed.' > notes.md"

const git = (folder: string, ...args: string[]) =>
  execFileSync('git', args, { cwd: folder, encoding: 'utf8' })

test('the changes of a session of another machine are reviewed in the dashboard of a hub, and the session is forked there', async () => {
  const world = await createWorld({
    answers: [
      { text: 'I change two lines.', tool: 'Bash', input: { command: EDIT } },
      'Both are changed.',
      { text: 'One file more.', tool: 'Bash', input: { command: 'echo second > second.txt' } },
      'It is there.',
    ],
    otherwise: 'Still here.',
  })
  git(world.project, 'init', '-q', '-b', 'main')
  git(world.project, 'config', 'user.name', 'A User')
  git(world.project, 'config', 'user.email', 'user@example')
  writeFileSync(path.join(world.project, '.gitignore'), '.chirality\n')
  writeFileSync(path.join(world.project, 'lines.ts'), `${LINES.join('\n')}\n`)
  git(world.project, 'add', '.')
  git(world.project, 'commit', '-qm', 'first')
  const upstream = path.join(world.home, 'upstream.git')
  git(world.home, 'clone', '-q', '--bare', world.project, upstream)
  git(world.project, 'remote', 'add', 'origin', upstream)
  const clone = path.join(world.home, 'clones', 'project')
  git(world.home, 'clone', '-q', world.project, clone)
  const hub = await startHub(world, [clone])
  const worker = await startWorker(world, hub, { name: 'worker', projects: [world.project] })
  const { id } = await change<{ id: string }>(hub, 'sessions.create', {
    ...{ project: world.project, machine: 'worker', harness: 'claude-code', title: 'Larger numbers' },
    ...{ permissionMode: 'default', worktree: {} },
  })
  const browser = await launchBrowser()
  onTestFinished(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  page.setDefaultTimeout(60_000)
  await page.goto(hub.link)
  await page.locator('.sheet').waitFor()
  await page.goto(`${hub.url}/s/${id}`)
  const say = async (text: string, answer: string) => {
    await page.getByRole('textbox', { name: 'Message' }).fill(text)
    await page.keyboard.press('Enter')
    await page.getByText('Run this command?').first().waitFor()
    await page
      .getByRole('button', { name: /^Allow/ })
      .first()
      .click()
    await page.getByText(answer).first().waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  }
  await say('Make the numbers larger.', 'Both are changed.')
  const { worktree } = await call<{ worktree: string }>(hub, 'sessions.get', { sessionId: id })
  const folder = path.join(worker.home, 'worktrees', worktree, 'project')
  const numbers = () => readFileSync(path.join(folder, 'lines.ts'), 'utf8')
  expect(numbers()).toContain('line39 = 3900\n')

  // One file is taken back on its machine, and comes back.
  const review = page.getByRole('region', { name: 'Review' })
  await review.getByText('2 files to commit').waitFor()
  const notes = page.getByRole('region', { name: 'notes.md' })
  await notes
    .getByRole('button', { name: /^Discard/ })
    .first()
    .click()
  await review.getByText(/^Discarded .*notes\.md/).waitFor()
  expect(existsSync(path.join(folder, 'notes.md'))).toBe(false)
  await review.getByRole('button', { name: 'Undo' }).click()
  await review.getByText(/^Undone: /).waitFor()
  expect(readFileSync(path.join(folder, 'notes.md'), 'utf8')).toBe('Two lines changed.\n')

  // One change of a file.
  const lines = page.getByRole('region', { name: 'lines.ts' })
  await lines.getByText('3900').first().waitFor()
  await lines
    .getByRole('group', { name: /^Change 2 of 2/ })
    .getByRole('button', { name: /^Discard/ })
    .click()
  await review.getByText(/^Discarded a change in lines\.ts/).waitFor()
  await expect.poll(numbers).toContain('line39 = 39\n')
  expect(numbers()).toContain('line2 = 200\n')

  // Who wrote a line is read there.
  const who = page.locator('.who-wrote')
  await lines.locator('.diff__line--add .diff__number').last().focus()
  await who.getByRole('link', { name: '“Make the numbers larger.”' }).waitFor()
  await page.keyboard.press('Escape')

  // Committed, merged and pushed there, each with its own question first.
  await review.getByRole('button', { name: /^Commit…/ }).click()
  const commit = page.getByRole('dialog', { name: 'Commit' })
  await commit.getByRole('button', { name: /^Commit/ }).click()
  await review.getByText(/^Committed 2 files as/).waitFor()
  expect(git(folder, 'log', '-1', '--format=%s').trim()).toBe('Larger numbers')
  await review.getByRole('button', { name: /^Merge into main/ }).click()
  const merge = page.getByRole('dialog', { name: 'Merge into main' })
  await merge.getByText('No merge commit is needed.').waitFor()
  await merge.getByRole('button', { name: 'Merge into main' }).click()
  await review.getByText(/^Merged chirality\/larger-numbers into main/).waitFor()
  expect(git(world.project, 'log', '-1', '--format=%s', 'main').trim()).toBe('Larger numbers')
  await review.getByRole('button', { name: 'Push…' }).click()
  const push = page.getByRole('dialog', { name: 'Push' })
  await push.getByText('the remote does not have this branch yet.').waitFor()
  expect(git(upstream, 'branch', '--list', 'chirality/*')).toBe('')
  await push.getByRole('button', { name: /^Push/ }).click()
  await review.getByText(/^Pushed chirality\/larger-numbers to origin\.$/).waitFor()
  expect(git(upstream, 'branch', '--list', 'chirality/*')).toContain('chirality/larger-numbers')

  // Back to before a turn, and undone. The session that it makes is known here at once.
  await say('One more file.', 'It is there.')
  expect(existsSync(path.join(folder, 'second.txt'))).toBe(true)
  await page.getByRole('button', { name: 'Back to before this turn' }).last().click()
  const back = page.getByRole('dialog', { name: 'Back to before this turn' })
  await back.getByText('second.txt').waitFor()
  await back.getByRole('button', { name: 'Go back' }).click()
  await page.getByText('You went back to before').waitFor()
  expect(existsSync(path.join(folder, 'second.txt'))).toBe(false)
  await page.getByRole('button', { name: 'Undo going back' }).click()
  await page.waitForURL(`${hub.url}/s/${id}`)
  await expect.poll(() => existsSync(path.join(folder, 'second.txt'))).toBe(true)

  // A fork on its machine, with a worktree of its own.
  await page.getByRole('button', { name: 'Actions' }).click()
  await page.getByRole('menuitem', { name: 'Fork…' }).click()
  const fork = page.getByRole('dialog', { name: 'Fork from here' })
  const forkedTo = async () => {
    const from = page.url()
    await fork.getByRole('button', { name: 'Fork', exact: true }).click()
    await page.waitForURL(url => url.pathname.startsWith('/s/') && url.href !== from)
    await page.getByText('Both are changed.').first().waitFor()
    return page.url().split('/').at(-1) ?? ''
  }
  await fork.getByText('the new one gets a worktree of its own').waitFor()
  const onOwner = await forkedTo()
  expect(await call(worker, 'sessions.get', { sessionId: onOwner })).toMatchObject({
    ...{ title: 'Larger numbers (fork)', worktree: expect.not.stringMatching(worktree) },
  })

  // And one on the hub, whose agent gets a written account of the conversation.
  await page.goto(`${hub.url}/s/${id}`)
  await page.getByRole('button', { name: 'Fork from here' }).last().click()
  await fork.getByRole('button', { name: /^Where:/ }).click()
  await page.getByRole('menuitemcheckbox', { name: 'hub (this machine)' }).click()
  await fork.getByText('the new one works on hub, in a worktree of its own').waitFor()
  const onHub = await forkedTo()
  const own = await call<{ worktree: string; machine?: object }>(hub, 'sessions.get', { sessionId: onHub })
  expect(own.machine).toBeUndefined()
  const files = path.join(hub.home, 'worktrees', own.worktree, 'project')
  expect(readFileSync(path.join(files, 'second.txt'), 'utf8')).toBe('second\n')
  await page.getByRole('textbox', { name: 'Message' }).fill('What was changed?')
  await page.keyboard.press('Enter')
  await page.getByText('Still here.').first().waitFor()
  const { body } = await world.model.waitForRequest(({ body }) =>
    JSON.stringify(body).includes('What was changed?'),
  )
  expect(JSON.stringify(body)).toContain('Both are changed.')

  // Its machine is gone: what cannot be done is said before anybody tries it.
  await page.goto(`${hub.url}/s/${id}`)
  await review.getByText('1 file to commit').waitFor()
  worker.command.signal('SIGKILL')
  await worker.command.result()
  await review.getByText('worker is away: discard, commit, merge and push when it is back.').waitFor()
  for (const name of [/^Commit…/, /^Merge into/])
    expect(await review.getByRole('button', { name }).isDisabled()).toBe(true)
  expect(await review.getByRole('button', { name: 'Push…' }).count()).toBe(0)
  expect(await page.getByRole('button', { name: 'Back to before this turn' }).count()).toBe(0)
  await expect(change(hub, 'review.commit', { sessionId: id, message: 'Lost?' })).rejects.toThrow(
    /machine-away: .*Nothing was done/,
  )
  await page.reload()
  await page.getByText('worker is away: discard, commit, merge and push when it is back.').waitFor()
  await page.getByRole('button', { name: 'Actions' }).click()
  const forking = page.getByRole('menuitem', { name: 'Fork…' })
  expect(await forking.textContent()).toContain('worker is away')
  expect(await forking.isDisabled()).toBe(true)
  await page.keyboard.press('Escape')

  // When it is back, so is the review. Its agents outlived it; the next server adopts and stops them.
  const again = await started(worker.start())
  const isBack = async () =>
    (await call<{ machine: string; state: string; agents: object[] }[]>(hub, 'fleet.machines')).some(
      ({ machine, state, agents }) => machine === 'worker' && state === 'here' && agents.length > 0,
    )
  await expect.poll(isBack, { timeout: 60_000 }).toBe(true)
  await expect.poll(() => review.getByRole('button', { name: /^Commit…/ }).isEnabled()).toBe(true)

  // What it cost is in the numbers of the hub, by machine.
  const { rows } = await call<{ rows: { machine?: string; tokens: number }[] }>(hub, 'sessions.usage', {
    ...{ timeZone: 'UTC', days: 7 },
  })
  expect(rows.filter(({ machine, tokens }) => machine === 'worker' && tokens > 0)).not.toEqual([])
  await page.goto(`${hub.url}/usage`)
  await page.getByText('on other machines, as they last told').waitFor()
  await page.getByRole('radio', { name: 'Machine' }).click()
  await page.locator('.usage__bars').getByText('worker').waitFor()
  const printed = await world.start(['usage', '--all', '--by', 'machine'], hub.options).result()
  expect(printed.stdout).toMatch(/^worker /m)
  for (const command of [again.command, hub.command]) {
    command.signal('SIGINT')
    expect((await command.result()).code).toBe(0)
  }
}, 900_000)
