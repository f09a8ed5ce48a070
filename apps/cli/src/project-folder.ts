import { stat } from 'node:fs/promises'
import path from 'node:path'
import { UsageError } from './usage-error.ts'

/** The folder that --project names, or this one. */
export async function projectFolder(given: string | undefined): Promise<string> {
  const folder = path.resolve(given ?? '.')
  const info = await stat(folder).catch(() => null)
  if (info?.isDirectory()) return folder
  throw new UsageError(
    `The project folder ${folder} ${info ? 'is not a folder' : 'does not exist'}. Name an existing one with --project.`,
  )
}
