import { type Changes, workspaceError } from '@chirality/workspaces'
import type { LiveSession } from '../status/live-session.ts'
import { changesFromTools } from './changes-from-tools.ts'
import { type ReviewHost, workFolderOf } from './review-host.ts'

/** What a turn changed. `tools`: what the agent's own tools said, where its files are not kept. */
export interface TurnDiff extends Changes {
  source: 'git' | 'tools'
}

export async function turnDiff(
  { changes }: Pick<ReviewHost, 'changes'>,
  { id: sessionId, status, log }: LiveSession,
  turnId: string,
): Promise<TurnDiff> {
  const folder = workFolderOf(status)
  const place = { sessionId, root: status.projectRoot, folder }
  const found = await changes.ofTurn(place, { turnId, isRunning: status.turnId === turnId })
  if (found !== undefined) return { ...found, source: 'git' }
  const told = changesFromTools(log, turnId, folder)
  if (told !== undefined) return { ...told, source: 'tools' }
  throw workspaceError('turn-missing', `Session ${sessionId} has no turn ${turnId}.`)
}
