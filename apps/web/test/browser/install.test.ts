import { expect, test } from 'vitest'
import { useDashboard } from '../support/page.ts'

const dashboard = useDashboard()

interface Manifest {
  id: string
  start_url: string
  scope: string
  display: string
  icons: { src: string; sizes: string; type: string; purpose: string }[]
  shortcuts: { name: string; url: string }[]
}

test('the browser finds nothing that keeps it from being installed', async () => {
  const { page, complaints, close } = await dashboard.open()
  const client = await page.context().newCDPSession(page)
  const { installabilityErrors } = await client.send('Page.getInstallabilityErrors')
  // Tests have windows of their own, which the browser treats as private ones.
  expect(installabilityErrors.filter(({ errorId }) => errorId !== 'in-incognito')).toEqual([])
  const { errors, data = '{}' } = await client.send('Page.getAppManifest')
  expect(errors).toEqual([])
  const manifest = JSON.parse(data) as Manifest
  expect(manifest).toMatchObject({ id: '/', start_url: '/', scope: '/', display: 'standalone' })

  const { icons } = manifest
  const found = icons.map(({ sizes, type, purpose }) => `${sizes} ${type} ${purpose}`)
  expect(found).toEqual([
    '192x192 image/png any',
    '512x512 image/png any',
    '512x512 image/png maskable',
    'any image/svg+xml any',
  ])
  for (const icon of icons.filter(({ sizes }) => sizes !== 'any')) {
    const size = await page.evaluate(async src => {
      const image = new Image()
      image.src = src
      await image.decode()
      return `${image.naturalWidth}x${image.naturalHeight}`
    }, icon.src)
    expect(size, icon.src).toBe(icon.sizes)
  }
  for (const { name, url } of manifest.shortcuts) {
    await page.goto(new URL(url, page.url()).href)
    await page.getByRole('heading', { name }).waitFor()
  }
  const colours = page.locator('meta[name=theme-color]')
  expect(await colours.evaluateAll(all => all.map(meta => meta.getAttribute('media')))).toEqual([
    '(prefers-color-scheme: light)',
    '(prefers-color-scheme: dark)',
  ])
  expect(complaints).toEqual([])
  await close()
})
