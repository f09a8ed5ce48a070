import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { HarnessError, type HarnessId } from '@chirality/core'

/** In the agent's temporary folder, which is ours too unless the harness was given an environment of its own. */
export async function makeTempFolder(
  environment: Record<string, string>,
  harnessId: HarnessId,
): Promise<string> {
  const parent = environment.TMPDIR || tmpdir()
  const folder = await mkdtemp(path.join(parent, 'chirality-')).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new HarnessError(
      `Cannot write to the temporary folder ${parent}. Make it writable or set TMPDIR. (${why})`,
      'invalid_query',
      harnessId,
      cause,
    )
  })
  await chmod(folder, 0o700)
  return folder
}
