import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { serveBuiltPage } from '../../bench/build-page.ts'
import { axeViolations } from '../support/axe.ts'

/**
 * Every component in every state, pixel by pixel beside the stored pictures. The fonts are the dashboard's own, the
 * browser is the packaged one with hinting off, nothing moves and no caret is drawn: what is left between two machines is
 * rounding. `npm run looks` in apps/web stores what is drawn now.
 */
const WEB = path.join(import.meta.dirname, '../..')
const FOLDER = path.join(WEB, 'test/components')
const STORED = path.join(FOLDER, 'pictures')
const DIFFERENT = path.join(WEB, '.look-differences')
const RENEW = process.env.RENEW_LOOKS === '1'

/** A pixel differs when one of its colours is further off than this, of 255. */
const COLOUR = 24
/**
 * Share of what is drawn on the ground of a component that may differ, and the least number of pixels that counts.
 * Another browser than the packaged one draws letters in its own way.
 */
const SHARE = process.platform === 'linux' ? 0.03 : 0.5
const LEAST = 8

/** Only ends what hangs: a build, and the packaged browser that may have to be unpacked, on a machine that does much else. */
const LONG_MS = 300_000
/** The same for one step, so that what hangs is named. */
const STEP_MS = 120_000

const VIEWS = {
  light: { viewport: { width: 1080, height: 800 }, colorScheme: 'light' },
  dark: { viewport: { width: 1080, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light', hasTouch: true, isMobile: true },
} as const satisfies Record<string, BrowserContextOptions>

interface Box {
  name: string
  x: number
  y: number
  width: number
  height: number
}

let browser: Browser
let server: { url: string; close(): void }
beforeAll(async () => {
  server = await serveBuiltPage(FOLDER)
}, LONG_MS)
beforeAll(async () => {
  browser = await launchBrowser({ samePixels: true })
}, LONG_MS)
afterAll(async () => {
  await browser?.close()
  server?.close()
})

test.each(Object.keys(VIEWS) as (keyof typeof VIEWS)[])(
  'components look as they did, %s',
  async view => {
    const pictures = await picturesOf(view)
    const found: string[] = []
    const page = await browser.newPage()
    for (const picture of pictures) found.push(...(await differences(page, picture)))
    await page.close()
    expect(found).toEqual([])
  },
  LONG_MS,
)

test(
  'a menu that closes has no animation whose end is waited for',
  async () => {
    const page = await browser.newPage({ reducedMotion: 'reduce' })
    page.setDefaultTimeout(STEP_MS)
    await page.goto(server.url)
    for (const name of ['Menu', 'Long menu']) {
      await page.getByRole('button', { name, exact: true }).click()
      const menu = page.locator('.menu')
      await menu.waitFor()
      const animations = await menu.evaluate(element => {
        const closing = element.cloneNode(true) as HTMLElement
        closing.dataset.state = 'closed'
        element.after(closing)
        const names = [element, closing].map(one => getComputedStyle(one).animationName)
        closing.remove()
        return names
      })
      expect(animations).toEqual(['menu-in', 'none'])
      await page.keyboard.press('Escape')
      await menu.waitFor({ state: 'detached' })
    }
    await page.close()
  },
  LONG_MS,
)

test('every component with a look is on the page of all components', () => {
  const shown = ['src/dev/ComponentsPage.tsx', 'test/components/main.tsx']
    .map(file => readFileSync(path.join(WEB, file), 'utf8'))
    .join('')
  const components = ['controls', 'marks', 'overlay']
    .flatMap(folder => readdirSync(path.join(WEB, 'src/ui', folder)).map(file => path.join(folder, file)))
    .filter(file => file.endsWith('.tsx'))
    .map(file => readFileSync(path.join(WEB, 'src/ui', file), 'utf8'))
    .flatMap(source => [...source.matchAll(/^export function ([A-Z]\w*)/gm)].map(([, name]) => name ?? ''))
  expect(components).toContain('Button')
  expect(components.filter(name => !new RegExp(`<${name}\\b`).test(shown))).toEqual([])
})

interface Picture {
  name: string
  png: Buffer
  boxes?: Box[]
}

/** What lies over the page is opened, pictured and closed again; then the page itself. */
async function picturesOf(view: keyof typeof VIEWS): Promise<Picture[]> {
  const pictures: Picture[] = []
  const context = await browser.newContext({ ...VIEWS[view], reducedMotion: 'reduce' })
  context.setDefaultTimeout(STEP_MS)
  const page = await context.newPage()
  await page.goto(server.url)
  await page.locator('[data-specimen]').first().waitFor()
  await page.evaluate(() => Promise.all([...document.fonts].map(font => font.load())))
  expect(await axeViolations(page)).toEqual([])
  for (const { name, button, part } of OVER_THE_PAGE) {
    await page.getByRole('button', { name: button }).click()
    const opened = page.locator(part)
    await opened.waitFor()
    pictures.push({ name: `${view}-${name}`, png: await opened.screenshot() })
    await page.keyboard.press('Escape')
    if (name === 'message') await page.getByRole('button', { name: 'Close message' }).click()
    await opened.waitFor({ state: 'detached' })
  }
  await page.mouse.move(0, 0)
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
  // As high as what it shows, so that all of it is in one picture.
  const height = await page.evaluate(() => document.querySelector('.components')?.scrollHeight ?? 0)
  await page.setViewportSize({ width: VIEWS[view].viewport.width, height })
  pictures.push({ name: view, png: await page.screenshot(), boxes: await specimens(page) })
  await context.close()
  return pictures
}

const OVER_THE_PAGE = [
  { name: 'menu', button: 'Scope: Ask before changes', part: '.menu' },
  { name: 'long-menu', button: 'Long menu', part: '.menu--long' },
  { name: 'dialog', button: 'Open a dialog', part: 'dialog[open] .dialog__body' },
  { name: 'message', button: 'Show a message', part: '.toast' },
]

function specimens(page: Page): Promise<Box[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('[data-specimen]')].map(element => {
      const { left, top, width, height } = element.getBoundingClientRect()
      const [x, y] = [Math.floor(left), Math.floor(top)]
      return {
        name: element.dataset.specimen ?? '',
        x,
        y,
        width: Math.ceil(left + width) - x,
        height: Math.ceil(top + height) - y,
      }
    }),
  )
}

/** In words, with where to look. Without boxes the picture is judged as a whole. */
async function differences(page: Page, { name, png, boxes }: Picture): Promise<string[]> {
  const file = path.join(STORED, `${name}.png`)
  if (RENEW) {
    mkdirSync(STORED, { recursive: true })
    writeFileSync(file, png)
  }
  if (!existsSync(file)) return [`${name}: no picture is stored. \`npm run looks\` in apps/web stores one.`]
  const stored = readFileSync(file).toString('base64')
  const { sizes, shares, difference } = await page.evaluate(compared, {
    ...{ stored, now: png.toString('base64'), limit: COLOUR, name },
    ...(boxes ? { boxes } : {}),
  })
  const words = shares
    .filter(({ differing, drawn }) => differing > Math.max(LEAST, drawn * SHARE))
    .map(one => `${one.name} differs in ${one.differing} of ${one.drawn} drawn pixels`)
  if (sizes[0] !== sizes[1]) words.unshift(`is ${sizes[1]} pixels large, was ${sizes[0]}`)
  if (words.length === 0) return []
  mkdirSync(DIFFERENT, { recursive: true })
  const [now, marked] = [`${name}.png`, `${name}-difference.png`].map(one => path.join(DIFFERENT, one))
  writeFileSync(now as string, png)
  writeFileSync(marked as string, Buffer.from(difference, 'base64'))
  const where = `See ${now}, with what differs in red in ${marked}. Is it meant so? \`npm run looks\` in apps/web stores it.`
  return words.map(word => `${name}: ${word}. ${where}`)
}

interface Comparison {
  name: string
  stored: string
  now: string
  limit: number
  boxes?: Box[]
}

/** Runs in a page: the browser can read PNGs, so that no library is needed for it. */
async function compared({ name, stored, now, limit, boxes }: Comparison) {
  const pixelsOf = async (base64: string) => {
    const image = new Image()
    image.src = `data:image/png;base64,${base64}`
    await image.decode()
    const canvas = new OffscreenCanvas(image.width, image.height)
    const pen = canvas.getContext('2d') as OffscreenCanvasRenderingContext2D
    pen.drawImage(image, 0, 0)
    return pen.getImageData(0, 0, image.width, image.height)
  }
  const [before, after] = [await pixelsOf(stored), await pixelsOf(now)]
  const canvas = document.createElement('canvas')
  canvas.width = after.width
  canvas.height = after.height
  const pen = canvas.getContext('2d') as CanvasRenderingContext2D
  pen.putImageData(after, 0, 0)
  pen.fillStyle = 'red'
  const colour = (image: ImageData, x: number, y: number, channel: number) =>
    x < image.width && y < image.height ? (image.data[(y * image.width + x) * 4 + channel] ?? 0) : -limit - 1
  const whole = (image: ImageData, x: number, y: number) =>
    (colour(image, x, y, 0) * 256 + colour(image, x, y, 1)) * 256 + colour(image, x, y, 2)
  const differs = (x: number, y: number) =>
    [0, 1, 2].some(channel => Math.abs(colour(before, x, y, channel) - colour(after, x, y, channel)) > limit)
  const all = boxes ?? [{ name, x: 0, y: 0, width: after.width, height: after.height }]
  const shares = all.map(box => {
    const seen = new Map<number, number>()
    let differing = 0
    for (let y = box.y; y < box.y + box.height; y++)
      for (let x = box.x; x < box.x + box.width; x++) {
        const is = whole(after, x, y)
        seen.set(is, (seen.get(is) ?? 0) + 1)
        if (!differs(x, y)) continue
        differing++
        pen.fillRect(x, y, 1, 1)
      }
    // The ground is the colour that is seen most; all else is drawn on it.
    return { name: box.name, differing, drawn: box.width * box.height - Math.max(...seen.values()) }
  })
  return {
    sizes: [before, after].map(image => `${image.width} × ${image.height}`),
    shares,
    difference: canvas.toDataURL('image/png').slice('data:image/png;base64,'.length),
  }
}
