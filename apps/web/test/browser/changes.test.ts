import { expect, test } from 'vitest'
import { axeViolations, axeViolationsInBothSchemes } from '../support/axe.ts'
import type { CannedApi } from '../support/canned-api.ts'
import { PHONE, useDashboard } from '../support/page.ts'
import { aBusyDay } from '../support/scenes.ts'

const dashboard = useDashboard()

test('an edit shows its lines in the colours of the language, with the numbers of the file and the changed words marked', async () => {
  const { page, complaints, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay })
  const edit = page.getByRole('article', { name: /^Edited/ })
  await edit.locator('.hl-keyword', { hasText: 'yield' }).first().waitFor()
  expect(await edit.locator('.diff__number').allTextContents()).toEqual(['42', '43', '43', '44'])
  expect(await edit.locator('.diff__word').allTextContents()).toEqual(['end', 'last'])

  // The same beside the conversation; a click in the list of files leads to one.
  const changes = page.getByRole('tabpanel')
  await changes.locator('.hl-keyword', { hasText: 'yield' }).first().waitFor()
  expect(
    await changes.getByRole('region', { name: 'src/ndjson.ts' }).locator('.diff__number').allTextContents(),
  ).toEqual(['41', '42', '43', '43', '44', '45', '46'])
  expect(complaints).toEqual([])
  await close()
})

test('the files of a change are listed; by the keyboard one is opened and brought into view', async () => {
  const { page, complaints, close } = await dashboard.open({ path: '/s/s1', scene: manyFiles })
  const list = page.getByRole('list', { name: 'Changed files' })
  await list.waitFor()
  expect(await list.getByRole('listitem').count()).toBe(3)
  expect(await page.locator('.changes__sum').textContent()).toContain('3 files')
  // Its diff is long, so it is folded.
  const long = page.getByRole('region', { name: 'src/long.ts' })
  expect(await long.locator('.diff__line').count()).toBe(0)
  await list.getByRole('button', { name: /long\.ts/ }).focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => long.locator('.diff__line').count()).toBe(300)
  const head = long.getByRole('button', { name: /long\.ts/ })
  await expect.poll(() => head.evaluate(element => element === document.activeElement)).toBe(true)
  await expect.poll(async () => ((await head.boundingBox())?.y ?? 900) < 300).toBe(true)
  expect(complaints).toEqual([])
  await close()
})

test('a thousand files and a diff of fifty thousand lines: only what is near is drawn, and keys reach all of it', async () => {
  const { page, complaints, close } = await dashboard.open({ path: '/s/s1', scene: manyLines })
  const changes = page.getByRole('tabpanel')
  await changes.getByText('1001 files').waitFor()
  const drawn = () => changes.locator('.diff__line').count()
  await expect.poll(drawn).toBeGreaterThan(50)
  expect(await drawn()).toBeLessThan(2500)
  // Those that are not seen come after those that are, and all of them do: a search of the browser finds each.
  await expect.poll(() => changes.locator('.file-change').count(), { timeout: 20_000 }).toBe(1001)
  expect(await changes.getByRole('listitem').count()).toBe(1001)
  // The long file is the last; opened, its first lines are there, and the others come when they are scrolled to.
  await page.keyboard.press('Escape')
  await page.keyboard.press(',')
  await changes.getByText('const n0 = 0', { exact: true }).waitFor()
  await changes.evaluate(element => {
    const long = element.querySelector('[aria-label="src/z-long.ts"]') as HTMLElement
    element.scrollTop += long.getBoundingClientRect().height / 2
  })
  await changes
    .getByText(/^const n2[456]\d{3} = /)
    .first()
    .waitFor()
  expect(await drawn()).toBeLessThan(2500)
  expect(complaints).toEqual([])
  await close()
})

test('a key leads to a file that is not drawn yet, and opens it', async () => {
  const { page, complaints, close } = await dashboard.open({ path: '/s/s1', scene: manyLines })
  // The steps in which files are drawn wait for frames: this page hears of none.
  await page.addInitScript('window.requestAnimationFrame = () => 0')
  await page.reload()
  const changes = page.getByRole('tabpanel')
  await changes.getByText('1001 files').waitFor()
  expect(await changes.locator('.file-change').count()).toBe(40)
  await page.keyboard.press('Escape')
  await page.keyboard.press(',')
  await changes.getByText('const n0 = 0', { exact: true }).waitFor()
  expect(complaints).toEqual([])
  await close()
})

test('a long file that is the first one is drawn only where it is seen, too', async () => {
  const { page, complaints, close } = await dashboard.open({ path: '/s/s1', scene: oneLongFile })
  const long = page.getByRole('region', { name: 'src/z-long.ts' })
  await long.getByRole('button', { name: /z-long\.ts/ }).click()
  await long.getByText('const n0 = 0', { exact: true }).waitFor()
  expect(await long.locator('.diff__line').count()).toBeLessThan(2500)
  expect(complaints).toEqual([])
  await close()
})

test('side by side and without white space, by keys; what was taken back has its undo', async () => {
  const { page, api, complaints, close } = await dashboard.open({ path: '/s/s1', scene: inReview })
  const file = page.getByRole('region', { name: 'src/a.ts' })
  await file.getByText('lines 10–12').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('v')
  await expect.poll(() => file.locator('.split').count()).toBe(3)
  await page.keyboard.press('b')
  await file.getByText('Only white space differs').waitFor()
  await page.keyboard.press('b')
  await page.keyboard.press('.')
  await page.keyboard.press('x')
  await expect.poll(() => api.called('review.discard')).toHaveLength(1)
  const lines = [' const a = 1', '-if (a) {', '+  if (a) {', ' }']
  expect(api.called('review.discard')).toEqual([
    { sessionId: 's1', files: [{ path: 'src/a.ts', hunks: [{ oldStart: 10, newStart: 10, lines }] }] },
  ])
  // A refusal is said where the review is, with its reason.
  api.faults.set('review.undo', 'src/a.ts changed since. Nothing was changed.')
  await expect.poll(() => page.getByRole('button', { name: 'Undo' }).isEnabled()).toBe(true)
  await page.keyboard.press('u')
  await page.getByRole('alert').getByText('src/a.ts changed since. Nothing was changed.').waitFor()
  expect(await axeViolationsInBothSchemes(page)).toEqual([])
  await page.setViewportSize({ width: 390, height: 844 })
  await page.getByRole('button', { name: 'Changes and more' }).click()
  await file.getByText('lines 10–12').waitFor()
  const panel = page.getByRole('tabpanel')
  expect(await panel.evaluate(element => element.scrollWidth - element.clientWidth)).toBe(0)
  expect(await axeViolations(page)).toEqual([])
  expect(complaints).toEqual([])
  await close()
})

test('a changed image is shown as it was and as it became, and a change has more lines around it on demand', async () => {
  const { page, api, complaints, close } = await dashboard.open({
    path: '/s/s1',
    scene: api => {
      inReview(api)
      api.patch += 'diff --git a/logo.png b/logo.png\nBinary files a/logo.png and b/logo.png differ\n'
      api.changed = [{ path: 'logo.png', kind: 'changed', added: null, removed: null }]
      const text = Array.from({ length: 60 }, (_, i) => `const line${i + 1} = 0`)
      text.splice(9, 3, 'const a = 1', '  if (a) {', '}')
      api.reviewed = (path, side) =>
        path === 'logo.png'
          ? { kind: 'image', mediaType: 'image/png', base64: side === 'old' ? RED : BLUE }
          : { kind: 'text', text: `${text.join('\n')}\n` }
    },
  })
  const file = page.getByRole('region', { name: 'src/a.ts' })
  await file.getByText('lines 10–12').waitFor()
  expect(await file.getByText('const line13 = 0').count()).toBe(0)
  await file.getByRole('button', { name: 'More lines' }).last().click()
  await file.getByText('const line13 = 0').waitFor()
  expect(await file.getByText('const line60 = 0').count()).toBe(0)

  const images = page.getByRole('region', { name: 'logo.png' }).locator('img')
  await images.nth(1).waitFor()
  const drawn = () =>
    images.evaluateAll(all =>
      all.map(one => [(one as HTMLImageElement).alt, (one as HTMLImageElement).naturalWidth]),
    )
  await expect.poll(drawn).toEqual([
    ['Before', 1],
    ['After', 1],
  ])
  expect(api.called('review.file')).toContainEqual(expect.objectContaining({ path: 'logo.png', side: 'old' }))
  expect(complaints).toEqual([])
  await close()
})

/** Images of one pixel. */
const RED = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

const BLUE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

test('a diff on a phone wraps and has nothing that axe finds, light and dark', async () => {
  const { page, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay, ...PHONE })
  const edit = page.getByRole('article', { name: /^Edited/ })
  await edit.locator('.hl-keyword').first().waitFor()
  const lines = edit.locator('.diff__scroll')
  expect(await lines.evaluate(element => element.scrollWidth - element.clientWidth)).toBe(0)
  expect(await axeViolationsInBothSchemes(page)).toEqual([])
  await page.getByRole('button', { name: 'Changes and more' }).tap()
  await page.getByRole('group', { name: 'Changes in src/ndjson.test.ts' }).waitFor()
  expect(await axeViolationsInBothSchemes(page)).toEqual([])
  await close()
})

const WORKTREE = { id: 'w1', folder: '/data/w1', branch: 'chirality/w1', baseBranch: 'main' }

function oneLongFile(api: CannedApi): void {
  api.add({ sessionId: 's1', projectRoot: '/code/parser-kit', lastTurn: 'completed', worktree: WORKTREE })
  api.patch = longFile(5000)
}

function longFile(count: number): string {
  const lines = Array.from({ length: count }, (_, i) => `+const n${i} = ${i}\n`).join('')
  return `--- /dev/null\n+++ b/src/z-long.ts\n@@ -0,0 +1,${count} @@\n${lines}`
}

function manyLines(api: CannedApi): void {
  api.add({ sessionId: 's1', projectRoot: '/code/parser-kit', lastTurn: 'completed', worktree: WORKTREE })
  const names = Array.from({ length: 1000 }, (_, i) => `src/f${String(i).padStart(4, '0')}.ts`)
  const small = names.map(name => `--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-const a = 1\n+const a = 2\n`)
  api.patch = `${small.join('')}${longFile(50_000)}`
}

function inReview(api: CannedApi): void {
  api.add({ sessionId: 's1', projectRoot: '/code/parser-kit', lastTurn: 'completed', worktree: WORKTREE })
  api.patch = '--- a/src/a.ts\n+++ b/src/a.ts\n@@ -10,3 +10,3 @@\n const a = 1\n-if (a) {\n+  if (a) {\n }\n'
  const move = { what: 'Discarded src/b.ts', at: '2026-01-01T12:00:00Z', files: ['src/b.ts'] }
  api.review = {
    branches: {
      ...{ branch: 'chirality/w1', base: 'main', ahead: 2, behind: 1, uncommitted: 1 },
      ...{ conflicts: ['src/c.ts'], blocked: null },
    },
    ...{ proposedMessage: 'Indent', hooks: ['pre-commit'], uncommitted: ['src/a.ts'], remotes: [] },
    moves: [{ id: 'm1', cause: { kind: 'discard' }, state: 'done', ...move }],
    untold: ['The user took back changes of yours and does not want them again: src/b.ts.'],
  }
}

function manyFiles(api: CannedApi): void {
  aBusyDay(api)
  const added = Array.from({ length: 300 }, (_, i) => `+export const n${i} = ${i}\n`).join('')
  api.patch += `diff --git a/src/long.ts b/src/long.ts\nnew file mode 100644\n--- /dev/null\n+++ b/src/long.ts\n@@ -0,0 +1,300 @@\n${added}`
  for (const name of ['ndjson.test.ts', 'long.ts']) {
    const input = { file_path: `/code/parser-kit/src/${name}`, content: '' }
    api.push('s1', [
      { type: 'tool:start', toolUseId: name, name: 'Write', input },
      { type: 'tool:result', toolUseId: name, content: 'Written.', isError: false },
    ])
  }
}
