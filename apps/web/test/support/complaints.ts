import type { Page } from 'playwright-core'

/** What the console and the page itself complain about. Empty is the promise. */
export function collectComplaints(page: Page): string[] {
  const complaints: string[] = []
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(`${error.name}: ${error.message}`))
  page.on('dialog', dialog => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return complaints
}
