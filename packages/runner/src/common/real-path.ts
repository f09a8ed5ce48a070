import { realpathSync } from 'node:fs'

/** Without its links; as given if it does not exist. */
export function realOrGiven(folder: string): string {
  try {
    return realpathSync.native(folder)
  } catch {
    return folder
  }
}
