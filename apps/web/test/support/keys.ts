import type { Locator, Page } from 'playwright-core'

/** The card whose keys work now: they stand on its buttons. */
export function cardWithKeys(scope: Page | Locator): Locator {
  return scope.locator('.decision:has(.keys--on)')
}
