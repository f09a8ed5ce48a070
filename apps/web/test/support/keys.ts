import type { Locator, Page } from 'playwright-core'

/** The card whose keys work now: they stand on its buttons. */
export function cardWithKeys(scope: Page | Locator): Locator {
  return scope.locator('.decision:has(.keys--on)')
}

/** Without a pause between them: the page gets the next before it has drawn what the last one did. */
export async function burst(page: Page, ...keys: string[]): Promise<void> {
  await Promise.all(keys.map(key => page.keyboard.press(key)))
}
