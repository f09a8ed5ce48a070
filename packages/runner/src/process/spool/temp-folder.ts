import { readFileSync, statSync } from 'node:fs'
import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { HarnessError, type HarnessId } from '@chirality/core'
import { listProcesses, sendSignal } from '../system/process-table.ts'

/** Created in the agent's temporary folder, which is also ours unless the harness has an environment of its own. */
export async function makeTempFolder(
  environment: Record<string, string>,
  harnessId: HarnessId,
): Promise<string> {
  const parent = environment.TMPDIR || tmpdir()
  const folder = await newTempFolder(parent).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new HarnessError(
      `Cannot write to the temporary folder ${parent}. Make it writable or set TMPDIR. (${why})`,
      'invalid_query',
      harnessId,
      cause,
    )
  })
  await chmod(folder, 0o700)
  await sweepTempFolders(environment)
  return folder
}

/** Its name says whose it is, so that `sweepTempFolders()` finds that of a process that was killed. */
export function newTempFolder(parent: string = tmpdir()): Promise<string> {
  return mkdtemp(path.join(parent, `${PREFIX}${process.pid}-${NAMESPACE}-`))
}

const PREFIX = 'chirality-'
const OURS = /^chirality-(\d+)-(?:(\d+)-)?[A-Za-z0-9]{6}$/
const sweptAt = new Map<string, number>()

/** The pid namespace, in which a pid names one process; 0 if the system has none. */
const NAMESPACE = pidNamespace()

/**
 * Removes the folders of servers that were killed before they could do it; the folders hold prompts and tokens. At most
 * once a minute, unless it has to be now: a folder stays while an agent uses it, and a server that stops looks no more.
 */
export async function sweepTempFolders(
  environment: Record<string, string> = {},
  { isNow = false }: { isNow?: boolean } = {},
): Promise<void> {
  const parent = environment.TMPDIR || tmpdir()
  if (!isNow && Date.now() - (sweptAt.get(parent) ?? 0) < SWEEP_EVERY_MS) return
  sweptAt.set(parent, Date.now())
  const names = await readdir(parent).catch(() => [])
  const left = names.flatMap(name => {
    const [, pid, namespace] = OURS.exec(name) ?? []
    if (pid === undefined || sendSignal(Number(pid), 0)) return []
    return [
      { folder: path.join(parent, name), isCertain: NAMESPACE !== 0 && Number(namespace) === NAMESPACE },
    ]
  })
  if (left.length === 0) return
  const inUse = await mentions(left.map(({ folder }) => folder))
  for (const { folder, isCertain } of left)
    if (!inUse.has(folder)) await remove(folder, isCertain ? 0 : MIN_AGE_MS).catch(() => {})
}

async function remove(folder: string, minAgeMs: number): Promise<void> {
  const stats = await lstat(folder)
  const isOurs = stats.isDirectory() && stats.uid === (process.getuid?.() ?? stats.uid)
  if (isOurs && Date.now() - stats.mtimeMs >= minAgeMs) await rm(folder, { recursive: true, force: true })
}

/**
 * The folders that a running process has in its environment or arguments: an agent works on when its server is killed.
 */
async function mentions(folders: string[]): Promise<Set<string>> {
  if (process.platform !== 'linux') return new Set()
  const found = new Set<string>()
  for (const { pid } of await listProcesses()) {
    const given = ['environ', 'cmdline'].map(file => readOf(`/proc/${pid}/${file}`)).join('\0')
    for (const folder of folders) if (given.includes(folder)) found.add(folder)
  }
  return found
}

function readOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // The process belongs to another user, or has exited.
    return ''
  }
}

function pidNamespace(): number {
  try {
    return statSync('/proc/self/ns/pid').ino
  } catch {
    return 0
  }
}

/** A folder without a pid namespace may belong to a program in another container. */
const MIN_AGE_MS = 60 * 60_000
const SWEEP_EVERY_MS = 60_000
