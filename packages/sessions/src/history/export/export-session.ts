import { processEnv, secretValues } from '@chirality/runner'
import { createRedactor, type Redactor } from '../../harness-log/redact.ts'
import { readSessionLog } from '../../log/read-log.ts'
import type { StoredSession } from '../../store/stored-session.ts'
import { exportHtml } from '../html/export-html.ts'
import { sessionOf } from '../session-of.ts'
import { exportJson } from './export-json.ts'
import { exportMarkdown } from './export-markdown.ts'
import { redactValue } from './redact-value.ts'
import { redactedLog } from './redacted-log.ts'
import type { SessionContents } from './session-contents.ts'

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
