import { access, constants, lstat, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Check } from './check.ts'

/** Whether a turn can keep its raw log there: without that no agent is started. */
export async function checkProject(given: string | undefined): Promise<Check> {
  const folder = path.resolve(given ?? '.')
  const fault = await faultOf(folder)
  if (!fault) return { check: 'project', ok: true, detail: folder }
  return { check: 'project', ok: false, ...fault }
}

async function faultOf(folder: string): Promise<{ detail: string; fix: string } | null> {
  const info = await stat(folder).catch(() => null)
  if (!info) return { detail: `${folder} does not exist`, fix: OTHER }
  if (!info.isDirectory()) return { detail: `${folder} is not a folder`, fix: OTHER }
  const own = path.join(folder, '.chirality')
  const ownInfo = await lstat(own).catch(() => null)
  // A link could lead the log anywhere, so `run` refuses it too.
  if (ownInfo && !ownInfo.isDirectory()) return { detail: `${own} is not a folder`, fix: 'Move it away.' }
  const written = ownInfo ? own : folder
  const writable = await access(written, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  return writable ? null : { detail: `${written} is read-only`, fix: `Make it writable. ${OTHER}` }
}

const OTHER = 'Name another with --project.'
