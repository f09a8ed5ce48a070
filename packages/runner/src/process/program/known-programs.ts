import { createHash } from 'node:crypto'
import { mkdir, readFile, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { writeFileAtomic } from '@chirality/disk'

/** The cached answers of a program, by the option that it was called with. */
export type ProgramWords = Readonly<Record<string, string>>

/** Identifies a program file in its current state: another release gives another value. */
export interface ProgramFile {
  path: string
  /** Its real path, its size, and its modification and change times. */
  key: string
}

/** Rejects if the file does not exist. */
export async function programFile(binary: string): Promise<ProgramFile> {
  const real = await realpath(binary)
  const { size, mtimeMs, ctimeMs } = await stat(real)
  return { path: real, key: JSON.stringify([real, size, mtimeMs, ctimeMs]) }
}

/**
 * The cached answers for this exact file, or undefined. They expire after a day: a script that starts another program
 * stays the same when that program is replaced.
 */
export async function keptWords(
  folder: string | undefined,
  file: ProgramFile,
): Promise<ProgramWords | undefined> {
  if (folder === undefined) return undefined
  try {
    const kept = JSON.parse(await readFile(keptAt(folder, file), 'utf8')) as Partial<Kept> | null
    const age = Date.now() - Number(kept?.at)
    const words = kept?.key === file.key && age >= 0 && age < KEPT_MS ? kept.words : undefined
    return areWords(words) ? words : undefined
  } catch {
    // The cache file is missing or damaged, so the program is asked again.
    return undefined
  }
}

/** One small file for each program. A failed write only costs the next start some time. */
export async function keepWords(
  folder: string | undefined,
  file: ProgramFile,
  words: ProgramWords,
): Promise<void> {
  if (folder === undefined) return
  const target = keptAt(folder, file)
  try {
    await mkdir(path.dirname(target), { recursive: true, mode: 0o700 })
    const kept: Kept = { key: file.key, at: Date.now(), words }
    await writeFileAtomic(target, `${JSON.stringify(kept)}\n`, { survives: 'kill' })
  } catch {
    // Asked again the next time.
  }
}

interface Kept {
  key: string
  at: number
  words: ProgramWords
}

function keptAt(folder: string, file: ProgramFile): string {
  const name = createHash('sha256').update(file.path).digest('hex').slice(0, 32)
  return path.join(folder, 'programs', `${name}.json`)
}

function areWords(value: unknown): value is ProgramWords {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every(word => typeof word === 'string')
  )
}

const KEPT_MS = 24 * 60 * 60 * 1000
