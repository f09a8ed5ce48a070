import { createHash } from 'node:crypto'
import { type FileOps, realFileOps, StorageError } from '@chirality/disk'
import { processEnv, secretValues } from '@chirality/runner'
import { realProjectRoot } from '../../files/project-folder.ts'
import { requireSessionId } from '../../files/session-id.ts'
import { userDataFolder } from '../../files/user-data-folder.ts'
import { createRedactor, type Redactor } from '../../harness-log/redact.ts'
import { readSessionLog } from '../../log/read-log.ts'
import { ProjectSessions } from '../../store/project-sessions.ts'
import type { StoredSession } from '../../store/stored-session.ts'
import { UserIndex } from '../../store/user-index.ts'
import { PLAYER_SCRIPT, PLAYER_STYLE } from '../html/player.generated.ts'
import { exportMarkdown } from './export-markdown.ts'
import { redactedLog, redactValue, type SessionContents } from './redacted-log.ts'

export const EXPORT_FORMATS = ['markdown', 'json', 'html'] as const

export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export interface ExportOptions {
  format: ExportFormat
  /** Default: redacts whatever looks like a secret, and the secret values of our environment. */
  redactor?: Redactor
  home?: string
  /** A session of another machine, whose log is mirrored in the folder. Default: the one that is stored there. */
  session?: StoredSession | undefined
}

/** A session for sharing, redacted, as a stream. Read-only, so it can run beside a server. */
export async function* exportSession(
  projectRoot: string,
  sessionId: string,
  { format, redactor = createRedactor(secretValues(processEnv())), home, session: known }: ExportOptions,
): AsyncGenerator<string> {
  const session = known ?? (await sessionOf(projectRoot, sessionId, { home }))
  const log = await readSessionLog(known === undefined ? session.projectRoot : projectRoot, sessionId)
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

/** The session of this project, even when a copy of the project has one with the same id. */
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

/**
 * One page that replays the session. It loads nothing and runs only the player, which its policy names by hash. The
 * session is data in which no character can open or close a tag.
 */
async function* exportHtml(contents: SessionContents): AsyncGenerator<string> {
  const policy = [
    "default-src 'none'",
    `script-src '${hash(PLAYER_SCRIPT)}'`,
    `style-src '${hash(PLAYER_STYLE)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ]
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join('; ')}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${escapeText(contents.session.title ?? 'Session')}</title>
<style>${PLAYER_STYLE}</style>
</head>
<body>
<noscript>This page replays a session, and needs JavaScript for that. It loads nothing from the network.</noscript>
<script type="application/json" id="session-data">`
  for await (const text of exportJson(contents)) yield escapeJson(text)
  yield `</script>
<script>${PLAYER_SCRIPT}</script>
</body>
</html>
`
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

/** In JSON these characters occur only in strings, where an escape has the same meaning. */
function escapeJson(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** `{ session, envelopes }`, one envelope per line. Can be imported. */
async function* exportJson({ session, batches }: SessionContents): AsyncGenerator<string> {
  yield `{"session":${JSON.stringify(session)},"envelopes":[`
  let separator = '\n'
  for await (const batch of batches) {
    if (batch.length === 0) continue
    yield separator + batch.map(envelope => JSON.stringify(envelope)).join(',\n')
    separator = ',\n'
  }
  yield '\n]}\n'
}
