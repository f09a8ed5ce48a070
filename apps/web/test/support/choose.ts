import type { Locator, Page } from 'playwright-core'

/** Opens the picker with this label and takes the option with this name. */
export async function choose(place: Page | Locator, label: string, option: string): Promise<void> {
  await picker(place, label).click()
  const page = 'page' in place ? place.page() : place
  await page.getByRole('menuitemcheckbox', { name: option, exact: true }).click()
}

/** Its name is its label and what is chosen, as in "Agent: Codex". */
export function picker(place: Page | Locator, label: string): Locator {
  return place.getByRole('button', { name: new RegExp(`^${label}:`) })
}
