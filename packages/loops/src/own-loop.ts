import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { isNodeError, readIfThere, replaceFile } from './files.ts'
import { loopError } from './loop-error.ts'

/**
 * What the user's data folder has of a loop: that this user started it in this project, and the commands that it may run.
 * The journal names both, too, but lies in the project, where a clone brings files and an agent with a shell writes: it
 * only shows them.
 */
export type OwnLoop = z.infer<typeof ownLoop>

export const LOOP_ID = /^[a-z0-9][a-z0-9-]{0,60}$/

const ownLoop = z.object({ project: z.string(), allowed: z.array(z.string()) })

/** Undefined if this user started no such loop, or the record is damaged. */
export function readOwnLoop(home: string, loopId: string): OwnLoop | undefined {
  // A receipt names it, too, and could lead to a file that an agent wrote.
  if (!LOOP_ID.test(loopId)) return undefined
  const text = inDataFolder(home, () => readIfThere(fileOf(home, loopId)))
  if (text === undefined) return undefined
  // An earlier version kept only the project here, and the commands in the journal: none of them is known to be allowed.
  if (path.isAbsolute(text)) return { project: text, allowed: [] }
  try {
    return ownLoop.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

export function writeOwnLoop(home: string, loopId: string, own: OwnLoop): void {
  const file = fileOf(home, loopId)
  inDataFolder(home, () => {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    replaceFile(file, `${JSON.stringify(own)}\n`)
  })
}

export function removeOwnLoop(home: string, loopId: string): void {
  inDataFolder(home, () => rmSync(fileOf(home, loopId), { force: true }))
}

/** The loops that have a record, of all projects. */
export function ownLoopIds(home: string): string[] {
  return inDataFolder(home, () => {
    try {
      return readdirSync(path.join(home, 'loops'))
    } catch (error) {
      if (isNodeError(error, 'ENOENT')) return []
      throw error
    }
  })
}

function fileOf(home: string, loopId: string): string {
  return path.join(home, 'loops', loopId)
}

function inDataFolder<T>(home: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw loopError(
      'loop-refused',
      `The commands that you allow for a loop are kept in ${path.join(home, 'loops')}, and this cannot be used: ${why}. The folder must be yours and writable; CHIRALITY_HOME names another data folder.`,
      error,
    )
  }
}
