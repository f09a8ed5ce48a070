import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { writeFileNow } from '@chirality/disk'
import { slugOf } from '@chirality/workspaces'
import { z } from 'zod'
import { isNodeError, readIfThere } from './files.ts'
import { loopError } from './loop-error.ts'
import { openSeal, readSeal, type Seal } from './machine-key.ts'

/**
 * Record of a loop in the user's data folder: this user started it in this project, and it may run these commands. The
 * journal beside it has both too. The project contains only a copy for people.
 */
export interface OwnLoop {
  project: string
  allowed: string[]
  /** The record was changed by somebody else, so it allows no command. */
  isAltered?: true
}

/** Makes an id for a loop on this list. */
export function newLoopId(list: string): string {
  const name = path.basename(list, path.extname(list))
  return `${slugOf(name, 'task').slice(0, 24)}-${randomBytes(3).toString('hex')}`
}

export const LOOP_ID = /^[a-z0-9][a-z0-9-]{0,60}$/

const OWN = z.object({ project: z.string(), allowed: z.array(z.string()), sig: z.string() })

/** The folder of a loop in the user's data folder. */
export function loopFolder(home: string, loopId: string): string {
  return path.join(home, 'loops', loopId)
}

/** Reads the record. Undefined if this user started no such loop, or the record is damaged. */
export function readOwnLoop(home: string, loopId: string, seal = readSeal(home)): OwnLoop | undefined {
  // A receipt contains a loop id too, which could lead to a file that an agent wrote.
  if (!LOOP_ID.test(loopId)) return undefined
  // An earlier version had a file in the place of the folder, and the journal in the project; such a loop is not
  // readable as an own one.
  const text = inDataFolder(home, () => readIfThere(fileOf(home, loopId)))
  if (text === undefined) return undefined
  try {
    const { project, allowed, sig } = OWN.parse(JSON.parse(text))
    if (seal?.holds('own', wordsOf(loopId, { project, allowed }), sig)) return { project, allowed }
    return { project, allowed: [], isAltered: true }
  } catch {
    return undefined
  }
}

export function writeOwnLoop(home: string, loopId: string, own: OwnLoop, seal?: Seal): void {
  const file = fileOf(home, loopId)
  const { project, allowed } = own
  inDataFolder(home, () => {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    const sig = (seal ?? openSeal(home)).sign('own', wordsOf(loopId, own))
    writeFileNow(file, `${JSON.stringify({ project, allowed, sig })}\n`)
  })
}

/** Removes the record together with the journal. */
export function removeOwnLoop(home: string, loopId: string): void {
  inDataFolder(home, () => removeLoopFolder(loopFolder(home, loopId)))
}

/** Ids of all loops with a folder, of all projects. */
export function ownLoopIds(home: string): string[] {
  return inDataFolder(home, () => {
    try {
      const entries = readdirSync(path.join(home, 'loops'), { withFileTypes: true })
      return entries.filter(entry => entry.isDirectory()).map(({ name }) => name)
    } catch (error) {
      if (isNodeError(error, 'ENOENT')) return []
      throw error
    }
  })
}

/** Removes the files that identify the loop last, so that the next process finds and forgets a partly removed one. */
export function removeLoopFolder(folder: string): void {
  const names = readdirSync(folder).filter(name => name !== 'own.json' && name !== 'journal.ndjson')
  for (const name of names) rmSync(path.join(folder, name), { recursive: true, force: true })
  rmSync(folder, { recursive: true, force: true })
}

function wordsOf(loopId: string, { project, allowed }: OwnLoop): string {
  return JSON.stringify([loopId, project, allowed])
}

function fileOf(home: string, loopId: string): string {
  return path.join(loopFolder(home, loopId), 'own.json')
}

function inDataFolder<T>(home: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw loopError(
      'loop-refused',
      `Loops are kept in ${path.join(home, 'loops')}, and this cannot be used: ${why}. The folder must be yours and writable; CHIRALITY_HOME names another data folder.`,
      error,
    )
  }
}
