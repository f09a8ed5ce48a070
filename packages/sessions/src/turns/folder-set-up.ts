import { endMarked, runCommand } from '@chirality/runner'
import {
  fillVariables,
  fillWorktree,
  readWorkspaceFile,
  setupMarker,
  type Worktrees,
} from '@chirality/workspaces'
import type { OwnSetups } from '../trust/own-setups.ts'
import { TrustStore } from '../trust/trust-store.ts'
import { SETUP_KIND } from './set-up-worktree.ts'

export interface FolderSetUp {
  projectRoot: string
  /** Of a worktree, or a name of the caller's for a folder that is none. */
  id: string
  folder: string
  signal: AbortSignal
}

export interface FolderIsSetUp {
  variables: Record<string, string>
  /** What could not be done, as sentences. */
  problems: string[]
}

/**
 * What the user's own set-up of worktrees does, or that of the project's file if it was allowed, in a folder in which no
 * agent works: without it a check fails there that holds where agents are. Nobody is asked.
 */
export async function setUpFolder(
  { home, worktrees, ownSetups }: { home: string; worktrees: Worktrees; ownSetups: OwnSetups },
  { projectRoot, id, folder, signal }: FolderSetUp,
): Promise<FolderIsSetUp> {
  const own = ownSetups.get(projectRoot)
  const source = own ?? (await readWorkspaceFile(projectRoot))
  if (source === undefined) return { variables: {}, problems: [] }
  const { setup, hash } = source
  if ('problem' in setup) return { variables: {}, problems: [setup.problem] }
  // Those of the project are asked about in the first turn of a session, so that nothing is done here without an answer.
  if (own === undefined && !new TrustStore({ home }).isTrusted(projectRoot, SETUP_KIND, hash))
    return { variables: {}, problems: [] }
  const variables = await fillVariables(setup.variables, { id, taken: await worktrees.takenValues(id) })
  const { problems } = await fillWorktree(setup, { projectRoot, folder, signal })
  if (setup.command === undefined) return { variables, problems }
  const marker = setupMarker(id)
  await endMarked(marker)
  const timeoutMs = setup.minutes * 60_000
  const { exitCode, stopped, output } = await runCommand(setup.command, {
    cwd: folder,
    timeoutMs,
    marker,
    signal,
    env: variables,
  })
  if (exitCode !== 0)
    problems.push(`\`${setup.command}\` ${stopped ?? `exits with ${exitCode}`}.\n${output}`.trim())
  return { variables, problems }
}
