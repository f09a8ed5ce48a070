import { expect, test } from 'vitest'
import { axeViolations } from '../support/axe.ts'
import type { CannedApi } from '../support/canned-api.ts'
import { useDashboard } from '../support/page.ts'
import { aBusyDay } from '../support/scenes.ts'

const dashboard = useDashboard()

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

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

test.each(['light', 'dark'] as const)(
  'a diff on a phone wraps and has nothing that axe finds, %s',
  async colorScheme => {
    const { page, close } = await dashboard.open({ path: '/s/s1', scene: aBusyDay, ...PHONE, colorScheme })
    const edit = page.getByRole('article', { name: /^Edited/ })
    await edit.locator('.hl-keyword').first().waitFor()
    const lines = edit.locator('.diff__scroll')
    expect(await lines.evaluate(element => element.scrollWidth - element.clientWidth)).toBe(0)
    expect(await axeViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Changes and more' }).tap()
    await page.getByRole('group', { name: 'Changes in src/ndjson.test.ts' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    await close()
  },
)

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
