// Prints the path of a Chromium for tests: the system's, else the one inside `@sparticuz/chromium`, unpacked into .tools.
//
// The package unpacks itself into the temporary folder, file by file, under a fixed name. Two processes that do so at once fail with
// ETXTBSY: one starts the file that the other still writes. So it is unpacked into a folder of its own and then renamed, which is atomic.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const SYSTEM = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]
/** A folder older than this was left by a killed process. */
const ABANDONED_MS = 10 * 60_000

const system = process.argv.includes('--packaged') ? undefined : SYSTEM.find(file => existsSync(file))
process.stdout.write(`${system ?? (await packaged())}\n`)

async function packaged() {
  if (process.platform !== 'linux')
    throw new Error(
      'No Chromium or Chrome is installed, and the packaged one runs on Linux only. Install Chrome.',
    )
  const manifest = path.join(root, 'node_modules', '@sparticuz', 'chromium', 'package.json')
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'))
  const tools = path.join(root, '.tools')
  const name = `chromium-${version}`
  const target = path.join(tools, name)
  if (!existsSync(target)) {
    mkdirSync(tools, { recursive: true })
    removeAbandoned(tools, `${name}-`)
    await unpack(target)
  }
  return path.join(target, 'chromium')
}

async function unpack(target) {
  const own = mkdtempSync(`${target}-`)
  process.env.TMPDIR = own
  const { default: chromium } = await import('@sparticuz/chromium')
  await chromium.executablePath()
  try {
    renameSync(own, target)
  } catch (error) {
    // Another process was first; its folder is complete and may be in use.
    rmSync(own, { recursive: true, force: true })
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  }
}

function removeAbandoned(folder, prefix) {
  for (const name of readdirSync(folder).filter(entry => entry.startsWith(prefix))) {
    const file = path.join(folder, name)
    const modified = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    if (Date.now() - modified > ABANDONED_MS) rmSync(file, { recursive: true, force: true })
  }
}
