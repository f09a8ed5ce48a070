// Prepares a fresh clone with only Node and npm: downloads the pinned pnpm, installs and builds.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const tools = path.join(root, '.tools')
const pinned = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).packageManager.split('@')[1]
const turboBin = path.join(root, 'node_modules', 'turbo', 'bin', 'turbo')
const pnpmFolder = path.join(tools, `pnpm-${pinned}`)
const pnpmScript = path.join(pnpmFolder, 'node_modules', 'pnpm', 'bin', 'pnpm.cjs')

/**
 * Ensures that pnpm and the dependencies are installed. Prints a step only when it runs. `agents: false` skips the
 * agents for the tests, about 250 MB, and everything else that only tests need.
 */
export async function setup({ agents = true } = {}) {
  try {
    requireNode()
    await installPnpm()
    await installDependencies(agents)
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    say(error.message)
    process.exit(1)
  }
}

/** Set-up cannot continue; the message says why. */
class SetupError extends Error {}

/** Runs a command in the repo with the pinned pnpm first on PATH; resolves with its exit code. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: 'inherit',
      ...options,
      env: { ...toolEnv(), ...options.env },
    })
    const stop = signal => child.kill(signal)
    // Ctrl-C reaches the child directly, with the terminal's process group.
    for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, stop)
    // npm runs this script in a shell that exits on SIGTERM without forwarding it, so the end of the parent stops the
    // child.
    const parent = process.ppid
    const orphaned = setInterval(() => {
      if (process.ppid !== parent) stop('SIGTERM')
    }, 1000).unref()
    const ended = () => {
      clearInterval(orphaned)
      for (const signal of ['SIGTERM', 'SIGHUP']) process.off(signal, stop)
    }
    child.once('error', error => {
      ended()
      reject(error)
    })
    child.once('exit', (code, signal) => {
      ended()
      resolve(code ?? (signal === 'SIGINT' ? 130 : 1))
    })
  })
}

/** Runs tasks with turbo; `logs` selects the output to show (a successful build is silent). */
export function turbo(tasks, { logs = 'errors-only' } = {}) {
  return run(process.execPath, [turboBin, 'run', `--output-logs=${logs}`, '--log-order=stream', ...tasks])
}

/**
 * The names of the packages in which turbo would run `task`. For a filter without a match, turbo's message is printed.
 */
export function packagesWith(task, filters) {
  const dry = spawnSync(process.execPath, [turboBin, 'run', task, '--only', '--dry=json', ...filters], {
    cwd: root,
    env: toolEnv(),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (dry.status !== 0) {
    process.stderr.write(dry.stderr)
    return []
  }
  return JSON.parse(dry.stdout).packages.filter(name => name !== '//')
}

export function say(text) {
  process.stderr.write(`${process.stderr.isTTY ? '\x1b[36m▸\x1b[0m' : '>'} ${text}\n`)
}

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  throw new SetupError(`Node ${process.versions.node} is too old: Chirality needs Node 20.19 or later.`)
}

/** Installs into a temporary folder and renames it, so that an interrupted install is never used. */
async function installPnpm() {
  if (existsSync(pnpmFolder)) return
  say(`Fetching pnpm ${pinned} into .tools (once)`)
  mkdirSync(tools, { recursive: true })
  const own = mkdtempSync(`${pnpmFolder}-`)
  writeFileSync(path.join(own, 'package.json'), '{"private":true}\n')
  const npm = spawnSync(
    'npm',
    ['install', '--yes', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', `pnpm@${pinned}`],
    {
      cwd: own,
      stdio: ['ignore', 'inherit', 'inherit'],
      // A newer npm is no news of ours.
      env: { ...process.env, npm_config_update_notifier: 'false' },
    },
  )
  try {
    if (npm.status !== 0) throw new SetupError('npm could not fetch pnpm. Is the npm registry reachable?')
    renameSync(own, pnpmFolder)
  } catch (error) {
    rmSync(own, { recursive: true, force: true })
    // Another command in this clone was first.
    if (!existsSync(pnpmFolder)) throw error
  }
}

async function installDependencies(agents) {
  const stamp = path.join(root, 'node_modules', '.chirality-installed')
  const hash = manifestHash()
  const there = existsSync(stamp) ? readFileSync(stamp, 'utf8') : ''
  const full = `all ${hash}`
  if (there === full || (!agents && there === `app ${hash}`)) return
  // A clone that has run the tests keeps their dependencies: a smaller install would remove them.
  const all = agents || there.startsWith('all ')
  say(
    all
      ? 'Installing dependencies (the first time this downloads the agents the tests drive, about 250 MB)'
      : 'Installing dependencies',
  )
  const code = await run(process.execPath, [
    pnpmScript,
    'install',
    '--frozen-lockfile',
    ...(all ? [] : ['--prod']),
    '--reporter=append-only',
    '--loglevel=warn',
  ])
  if (code !== 0) throw new SetupError('pnpm install failed; its output above says why.')
  writeFileSync(stamp, all ? full : `app ${hash}`)
}

function manifestHash() {
  const hash = createHash('sha256').update(process.version)
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml'])
    hash.update(readFileSync(path.join(root, file)))
  return hash.digest('hex')
}

function toolEnv() {
  const bins = [path.join(pnpmFolder, 'node_modules', '.bin'), path.join(root, 'node_modules', '.bin')]
  return {
    ...process.env,
    PATH: [...bins, process.env.PATH].join(path.delimiter),
    TURBO_TELEMETRY_DISABLED: '1',
    DO_NOT_TRACK: '1',
  }
}
