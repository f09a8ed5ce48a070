import type { Page } from 'playwright-core'

/** Said where a context has no service worker, by the browser's driver and not by the page. */
const NOT_OF_THE_PAGE = 'Service Worker registration blocked by Playwright'

/** What the console and the page itself complain about. Empty is the promise. */
export function collectComplaints(page: Page): string[] {
  const complaints: string[] = []
  page.on('console', message => {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    if (message.text() !== NOT_OF_THE_PAGE) complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(`${error.name}: ${error.message}`))
  page.on('dialog', dialog => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return complaints
}
