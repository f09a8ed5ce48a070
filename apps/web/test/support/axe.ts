import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const require = createRequire(import.meta.url)

/** Violations of WCAG A and AA and of what every page should have, each with where it is. Runs beside the page, so that the page's policy stays as it is. */
export function axeViolations(page: Page): Promise<string[]> {
  return violationsOf(page, {
    runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] },
    rules: { 'page-has-heading-one': { enabled: true } },
  })
}

/** The same in light and in dark, of which the page is left in dark. Of all that is checked, only the contrast can differ. */
export async function axeViolationsInBothSchemes(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light' })
  const light = await axeViolations(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await violationsOf(page, { runOnly: ['color-contrast'] })
  return [...light, ...dark.map(violation => `dark: ${violation}`)]
}

async function violationsOf(page: Page, options: object): Promise<string[]> {
  const client = await page.context().newCDPSession(page)
  await client.send('Page.setBypassCSP', { enabled: false })
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await axeSource())
  await untilStill(page)
  const violations = await page.evaluate(async options => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(
          options: object,
        ): Promise<{ violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[] }>
      }
    }
    const result = await axe.run({ ...options, resultTypes: ['violations'] })
    return result.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`),
    )
  }, options)
  await client.detach()
  return violations
}

/** Waits until every transition and every animation that ends has ended: a colour on its way to another has a contrast of its own. */
async function untilStill(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const frame = () => new Promise(resolve => requestAnimationFrame(resolve))
    const moving = () =>
      document
        .getAnimations()
        .filter(
          ({ playState, effect, timeline }) =>
            playState === 'running' &&
            timeline === document.timeline &&
            effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY,
        )
    // The page hears of another colour scheme in its next frame, and draws what follows from it in the one after.
    await frame()
    await frame()
    for (let rest = moving(); rest.length > 0; rest = moving())
      await Promise.allSettled(rest.map(({ finished }) => finished))
  })
}

async function axeSource(): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return readFile(require.resolve('axe-core/axe.min.js'), 'utf8')
}
