import { encode } from 'uqr'
import { expect, test } from 'vitest'
import { axeViolations } from '../support/axe.ts'
import { PHONE, useDashboard } from '../support/page.ts'
import { aBusyDay } from '../support/scenes.ts'

const dashboard = useDashboard()

test.each([{}, PHONE])('a phone is signed in by a code, and sent out by key: %o', async size => {
  const { page, api, complaints, close } = await dashboard.open({
    ...{ path: '/settings/devices', scene: aBusyDay, ...size },
  })
  const url = 'https://machine.tailnet.example/#sign-in=nW3k2Jb0m0Qyq0V0m1nW3k2Jb0m0Qyq0V0m1nW3k2Jb'
  const seen = new Date(Date.now() - 5 * 60_000).toISOString()
  const known = { origin: 'https://machine.tailnet.example', address: '100.64.0.7', remembered: true }
  api.browsers = [
    { ...known, id: '1', name: 'Safari on iPhone', ...LAST(seen), isConnected: false, isCaller: false },
    { ...known, id: '2', name: 'Chrome on Linux', ...LAST(seen), isConnected: true, isCaller: true },
  ]
  await page.reload()
  const phone = page.getByRole('listitem').filter({ hasText: 'Safari on iPhone' })
  await phone.getByText('https://machine.tailnet.example · 100.64.0.7 · last seen 5 min ago').waitFor()
  await page.getByText('Chrome on Linux (this browser)').waitFor()
  await page.getByText(/open now$/).waitFor()

  // On this machine only: no code that a phone could do nothing with.
  const add = page.getByRole('button', { name: 'Add a device' })
  await add.focus()
  await page.keyboard.press('Enter')
  await page.getByText('A phone cannot reach this server').waitFor()
  await page.getByText('chirality serve --expose tailscale').waitFor()
  expect(await page.getByRole('img', { name: 'QR code of the link' }).count()).toBe(0)

  api.signInLink = { url, minutes: 10, reach: 'network' }
  await page.keyboard.press('Enter')
  const code = page.getByRole('img', { name: 'QR code of the link' })
  await code.waitFor()
  const drawn = await code.locator('path').getAttribute('d')
  const modules = encode(url, { ecc: 'M', border: 4 }).data.flatMap((row, y) =>
    row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])),
  )
  expect(drawn).toBe(modules.join(''))
  const box = await code.boundingBox()
  expect(box?.width).toBeGreaterThanOrEqual(200)
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
  expect(await axeViolations(page)).toEqual([])

  await page.getByRole('button', { name: 'Sign out Safari on iPhone' }).focus()
  await page.keyboard.press('Enter')
  await phone.waitFor({ state: 'detached' })
  expect(api.called('system.revokeBrowser')).toEqual([{ id: '1' }])
  expect(complaints).toEqual([])
  await close()
})

const LAST = (at: string) => ({ lastSignInAt: at, lastSeenAt: at })
