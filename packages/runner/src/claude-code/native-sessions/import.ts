import { randomUUID } from 'node:crypto'
import type { ImportedSession } from '@chirality/core'
import { asText } from '../../common/json.ts'
import { requireNativeId, sessionNotFound } from '../../native-sessions/listing.ts'
import { readLines } from '../../native-sessions/read-lines.ts'
import { CLAUDE_CODE_ID } from '../descriptor.ts'
import { conversationOf, isLink } from './conversation.ts'
import { findSessionFile } from './files.ts'
import { claudeHistory } from './history.ts'

export interface ImportOptions {
  environment: Record<string, string>
  /** The folder that is searched first. */
  cwd?: string | undefined
  maxBytes?: number
}

/** Imports a conversation of Claude Code as a session. Only reads; unreadable lines are left out and marked. */
export async function importClaudeSession(given: string, options: ImportOptions): Promise<ImportedSession> {
  const nativeSessionId = requireNativeId(given, CLAUDE_CODE_ID)
  const file = await findSessionFile(nativeSessionId, options.environment, options.cwd)
  if (!file) throw sessionNotFound(nativeSessionId, CLAUDE_CODE_ID)
  const { maxBytes } = options
  const { lines, unreadable, isCut } = await readLines(file.path, {
    isWanted: isLink,
    ...(maxBytes === undefined ? {} : { maxBytes }),
  })
  const conversation = conversationOf(lines)
  const updatedAt = new Date(file.modifiedMs).toISOString()
  const createdAt = asText(lines[0]?.timestamp) ?? updatedAt
  const projectRoot = lines.flatMap(line => asText(line.cwd) ?? [])[0] ?? options.cwd
  if (projectRoot === undefined) throw sessionNotFound(nativeSessionId, CLAUDE_CODE_ID)
  const id = randomUUID()
  const gap = gapOf(isCut, Math.max(unreadable, conversation.broken))
  const facts = { sessionId: id, nativeSessionId, cwd: projectRoot, at: createdAt, gap }
  const { envelopes } = claudeHistory(conversation.lines, facts)
  return {
    session: {
      id,
      createdAt,
      updatedAt,
      projectRoot,
      persona: null,
      mode: 'direct',
      claudeSessionId: nativeSessionId,
    },
    envelopes,
  }
}

function gapOf(isCut: boolean, missing: number): { missing: number; reason: string } | undefined {
  if (isCut) return { missing: 1, reason: 'The conversation is too long: its beginning is left out.' }
  return missing > 0 ? { missing, reason: "Lines of the agent's file cannot be read." } : undefined
}
