// `npm run test:start`: what the README says of `npm start`, in a fresh clone of the last commit with an empty home: it
// installs, builds, serves the dashboard, and leaves no process when it is stopped.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { root, say } from './setup.mjs'

const folder = mkdtempSync(path.join(tmpdir(), 'chirality-start-'))
const clone = path.join(folder, 'clone')
const env = { PATH: process.env.PATH, HOME: path.join(folder, 'home'), TMPDIR: path.join(folder, 'tmp') }
for (const place of [env.HOME, env.TMPDIR]) mkdirSync(place)

try {
  const cloned = spawnSync('git', ['clone', '--quiet', root, clone], { stdio: 'inherit' })
  if (cloned.status !== 0) throw new Error('git could not clone the repository.')
  await start()
  say('npm start works in a fresh clone')
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function start() {
  const npm = spawn('npm', ['start', '--silent', '--', '--no-open', '--port', '0', '--json'], {
    cwd: clone,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(npm, 'exit')
  const lines = createInterface({ input: npm.stdout })
  const [line] = await Promise.race([once(lines, 'line'), ended.then(() => [undefined])])
  if (line === undefined) throw new Error('npm start ended before it said its address.')
  const { url, token, pid } = JSON.parse(line)
  try {
    const page = await fetch(url)
    if (!page.ok || !(await page.text()).includes('<div id="root"'))
      throw new Error(`The dashboard is not at ${url}: ${page.status}`)
    const calls = await fetch(`${url}/trpc/sessions.list`, { headers: { Authorization: `Bearer ${token}` } })
    if (!calls.ok) throw new Error(`The server refused a call with its token: ${calls.status}`)
  } finally {
    npm.kill('SIGTERM')
    await ended
  }
  for (let tries = 0; isAlive(pid); tries += 1) {
    if (tries === 100) throw new Error(`The server, process ${pid}, goes on after npm start was stopped.`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
