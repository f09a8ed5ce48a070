import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { HarnessError, type HarnessId } from '@chirality/core'
import { sendSignal } from '../process/process-table.ts'

/** In the agent's temporary folder, which is ours too unless the harness was given an environment of its own. */
export async function makeTempFolder(
  environment: Record<string, string>,
  harnessId: HarnessId,
): Promise<string> {
  const parent = environment.TMPDIR || tmpdir()
  const folder = await mkdtemp(path.join(parent, `${PREFIX}${process.pid}-`)).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new HarnessError(
      `Cannot write to the temporary folder ${parent}. Make it writable or set TMPDIR. (${why})`,
      'invalid_query',
      harnessId,
      cause,
    )
  })
  await chmod(folder, 0o700)
  await sweep(parent)
  return folder
}

const PREFIX = 'chirality-'
const OURS = /^chirality-(\d+)-[A-Za-z0-9]{6}$/
const sweptAt = new Map<string, number>()

/** A Chirality that was killed could not remove its folders, and they hold prompts and tokens. */
async function sweep(parent: string): Promise<void> {
  if (Date.now() - (sweptAt.get(parent) ?? 0) < MIN_AGE_MS) return
  sweptAt.set(parent, Date.now())
  const names = await readdir(parent).catch(() => [])
  for (const name of names) {
    const pid = Number(OURS.exec(name)?.[1] ?? Number.NaN)
    if (Number.isNaN(pid) || sendSignal(pid, 0)) continue
    await removeOld(path.join(parent, name)).catch(() => {})
  }
}

/** A young one may be that of a program in another container, whose pids are not ours. */
async function removeOld(folder: string): Promise<void> {
  const stats = await lstat(folder)
  const isOurs = stats.isDirectory() && stats.uid === (process.getuid?.() ?? stats.uid)
  if (isOurs && Date.now() - stats.mtimeMs > MIN_AGE_MS) await rm(folder, { recursive: true, force: true })
}

const MIN_AGE_MS = 60 * 60_000
