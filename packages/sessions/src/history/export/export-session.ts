import { processEnv, secretValues } from '@chirality/runner'
import { type FileOps, realFileOps } from '../../files/file-ops.ts'
import { realProjectRoot } from '../../files/project-folder.ts'
import { requireSessionId } from '../../files/session-id.ts'
import { StorageError } from '../../files/storage-error.ts'
import { userDataFolder } from '../../files/user-data-folder.ts'
import { createRedactor, type Redactor } from '../../harness-log/redact.ts'
import { readSessionLog } from '../../log/read-log.ts'
import { ProjectSessions } from '../../store/project-sessions.ts'
import type { StoredSession } from '../../store/stored-session.ts'
import { UserIndex } from '../../store/user-index.ts'
import { exportHtml, exportJson } from './export-html.ts'
import { exportMarkdown } from './export-markdown.ts'
import { redactedLog, redactValue, type SessionContents } from './redacted-log.ts'

export const EXPORT_FORMATS = ['markdown', 'json', 'html'] as const

export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export interface ExportOptions {
  format: ExportFormat
  /** Takes secrets out. Default: what looks like one, and the values of secrets in our own environment. */
  redactor?: Redactor
  /** The user's data folder. */
  home?: string
}

/** A session for other eyes, without its secrets, a piece at a time. Reads only, also beside a server. */
export async function* exportSession(
  projectRoot: string,
  sessionId: string,
  { format, redactor = createRedactor(secretValues(processEnv())), home }: ExportOptions,
): AsyncGenerator<string> {
  const session = await sessionOf(projectRoot, sessionId, { home })
  const log = await readSessionLog(session.projectRoot, sessionId)
  try {
    const contents: SessionContents = {
      session: redactValue(session, redactor) as StoredSession,
      batches: log === undefined ? none() : redactedLog(log, redactor),
    }
    yield* WRITERS[format](contents)
  } finally {
    log?.close()
  }
}

const WRITERS: Record<ExportFormat, (contents: SessionContents) => AsyncGenerator<string>> = {
  markdown: exportMarkdown,
  json: exportJson,
  html: exportHtml,
}

async function* none(): AsyncGenerator<never> {}

/** A session of this very project, also when a copy of the project has one of the same id. */
async function sessionOf(
  projectRoot: string,
  sessionId: string,
  { home = userDataFolder(), ops = realFileOps }: { home?: string; ops?: FileOps } = {},
): Promise<StoredSession> {
  const root = realProjectRoot(projectRoot)
  const project = new ProjectSessions(root, new UserIndex(home, ops), ops)
  const session = await project.get(requireSessionId(sessionId))
  if (session !== undefined) return session
  throw new StorageError('not-found', root, `There is no session ${sessionId} in ${root}.`)
}
