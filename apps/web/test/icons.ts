/** `npm run icons`: the icons that cannot be SVG, drawn from `public/icon.svg` by a real browser. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { launchBrowser } from '../../../.scripts/browser.ts'

const FOLDER = path.join(import.meta.dirname, '../public')

interface Look {
  file: string
  pixels: number
  change(svg: string): string
}

const plain = (svg: string) => svg
/** A launcher cuts what shape it likes out of it: the ground goes to the edges, the sign stays in the middle four fifths. */
const maskable = (svg: string) =>
  svg.replace(/viewBox="[^"]+"/, 'viewBox="-8 -8 80 80"').replace(/<rect[^>]+>/, GROUND)
const GROUND = '<rect x="-8" y="-8" width="80" height="80" fill="#13161a"/>'
/** For the status bar of a phone, which takes only the shape. */
const badge = (svg: string) =>
  svg
    .replace(/viewBox="[^"]+"/, 'viewBox="8 8 48 48"')
    .replace(/<rect[^>]+>/, '')
    .replace(/stroke="#\w+"/g, 'stroke="#fff"')

const LOOKS: readonly Look[] = [
  { file: 'icon-192.png', pixels: 192, change: plain },
  { file: 'icon-512.png', pixels: 512, change: plain },
  { file: 'icon-maskable-512.png', pixels: 512, change: maskable },
  { file: 'icon-touch-180.png', pixels: 180, change: maskable },
  { file: 'badge-96.png', pixels: 96, change: badge },
]

const svg = await readFile(path.join(FOLDER, 'icon.svg'), 'utf8')
const browser = await launchBrowser()
try {
  for (const { file, pixels, change } of LOOKS) {
    const page = await browser.newPage({ viewport: { width: pixels, height: pixels } })
    await page.setContent(
      `<style>body{margin:0}svg{display:block;width:100vw;height:100vh}</style>${change(svg)}`,
    )
    await writeFile(path.join(FOLDER, file), await page.screenshot({ omitBackground: true }))
    await page.close()
    console.log(`public/${file}`)
  }
} finally {
  await browser.close()
}
