import { readFileSync, statSync } from 'node:fs'
import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { HarnessError, type HarnessId } from '@chirality/core'
import { listProcesses, sendSignal } from '../system/process-table.ts'

/** In the agent's temporary folder, which is ours too unless the harness was given an environment of its own. */
export async function makeTempFolder(
  environment: Record<string, string>,
  harnessId: HarnessId,
): Promise<string> {
  const parent = environment.TMPDIR || tmpdir()
  const folder = await mkdtemp(path.join(parent, `${PREFIX}${process.pid}-${NAMESPACE}-`)).catch(
    (cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new HarnessError(
        `Cannot write to the temporary folder ${parent}. Make it writable or set TMPDIR. (${why})`,
        'invalid_query',
        harnessId,
        cause,
      )
    },
  )
  await chmod(folder, 0o700)
  await sweepTempFolders(environment)
  return folder
}

const PREFIX = 'chirality-'
const OURS = /^chirality-(\d+)-(?:(\d+)-)?[A-Za-z0-9]{6}$/
const sweptAt = new Map<string, number>()

/** Within it a pid means one process; 0 where the system has no such thing. */
const NAMESPACE = pidNamespace()

/** A Chirality that was killed could not remove its folders, and they hold prompts and tokens. */
export async function sweepTempFolders(environment: Record<string, string> = {}): Promise<void> {
  const parent = environment.TMPDIR || tmpdir()
  if (Date.now() - (sweptAt.get(parent) ?? 0) < SWEEP_EVERY_MS) return
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

/** Those of the folders that a living process was given: an agent works on when its server is killed. */
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
    // Of another user, or gone by now.
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

/** One that does not say whose pid it names may be of a program in another container. */
const MIN_AGE_MS = 60 * 60_000
const SWEEP_EVERY_MS = 60_000
