import type { Page } from 'playwright-core'

/** Counts how many different states an answer that begins so is seen in: more than one is what streaming means. */
export async function watchGrowth(page: Page, beginning: string): Promise<() => Promise<number>> {
  const states = await page.evaluateHandle(wanted => {
    const seen = new Set<string>()
    const look = () => {
      for (const { textContent } of document.querySelectorAll('.say'))
        if (textContent?.startsWith(wanted)) seen.add(textContent)
    }
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true })
    return seen
  }, beginning)
  return () => states.evaluate(seen => seen.size)
}
