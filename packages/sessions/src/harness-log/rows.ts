import type { SessionMode } from '@chirality/core'
import { isSecretField } from '@chirality/core'
import type { RunnerLogEntry } from '@chirality/runner'
import { REDACTED, type Redactor } from './redact.ts'

export type LogLevel = RunnerLogEntry['level']

export interface LogEntry {
  timestamp: string
  sessionId: string
  level: LogLevel
  event: string
  data?: Record<string, unknown>
}

/** All rows that the specification requires. Long texts are cut when written, not by the caller. */
export type HarnessLogRow =
  | { event: 'turn:start'; userMessage: string; persona: string | null; mode: SessionMode }
  | { event: 'process:spawn'; command: string; pid: number | null }
  | { event: 'session:init'; claudeSessionId: string | null; model: string; tools: string[] }
  /** `edited`: the input that ran in place of the requested one, which has a row before it. */
  | { event: 'tool:invoke'; toolName: string; input: unknown; edited?: true }
  | { event: 'tool:result'; toolName: string; isError: boolean; contentLength: number }
  | {
      event: 'turn:complete'
      costUsd: number | null
      inputTokens: number
      outputTokens: number
      durationMs: number
    }
  | { event: 'resume:attempt'; claudeSessionId: string }
  | { event: 'resume:failed'; claudeSessionId: string; error: string }
  | { event: 'process:exit'; exitCode: number | null; signal: string | null; durationMs: number }
  | { event: 'parse:error'; line: string }
  | { event: 'stderr'; line: string }
  | { event: 'error'; message: string; stack?: string }

export function faultRow(error: unknown): HarnessLogRow {
  if (!(error instanceof Error)) return { event: 'error', message: String(error) }
  const { message, stack } = error
  return { event: 'error', message, ...(stack === undefined ? {} : { stack }) }
}

export const ROW_LEVELS: Record<HarnessLogRow['event'], LogLevel> = {
  'turn:start': 'info',
  'process:spawn': 'info',
  'session:init': 'info',
  'tool:invoke': 'info',
  'tool:result': 'info',
  'turn:complete': 'info',
  'resume:attempt': 'info',
  'resume:failed': 'warn',
  'process:exit': 'info',
  'parse:error': 'warn',
  stderr: 'warn',
  error: 'error',
}

/** The length limit of a text, by the name of its field. */
export const MAX_CHARS: Record<string, number> = {
  userMessage: 200,
  inputSummary: 200,
  line: 500,
  error: 500,
  message: 500,
  stack: 4000,
}
export const MAX_OTHER_CHARS = 2000

export function rowData(row: HarnessLogRow): Record<string, unknown> {
  const { event: _, ...data } = row
  if (row.event !== 'tool:invoke') return data
  const edited = row.edited === undefined ? {} : { edited: row.edited }
  return { toolName: row.toolName, inputSummary: asText(row.input), ...edited }
}

/** A harness's report, with the field names of the specification. */
export function runnerData(entry: RunnerLogEntry): Record<string, unknown> | undefined {
  const { event, data } = entry
  if (data === undefined) return undefined
  if (event === 'process:spawn' && Array.isArray(data.args)) {
    const { command, args, ...rest } = data
    return { command: [command, ...(args as unknown[])].map(shellWord).join(' '), ...rest }
  }
  if (event === 'process:exit' && 'code' in data) {
    const { code, ...rest } = data
    return { exitCode: code, ...rest }
  }
  return data
}

function asText(input: unknown): string {
  if (typeof input === 'string') return input
  try {
    return JSON.stringify(input) ?? ''
  } catch {
    return '[not JSON]'
  }
}

/** Quoted, so that the end of an argument is visible. */
function shellWord(word: unknown): string {
  const text = String(word)
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** Data for the log: redacted, with cut texts and limited depth and width. */
export function cleanData(data: Record<string, unknown>, redact: Redactor): Record<string, unknown> {
  return cleanObject(data, redact, 0)
}

function cleanObject(data: object, redact: Redactor, depth: number): Record<string, unknown> {
  const entries = Object.entries(data).slice(0, MAX_ENTRIES)
  return Object.fromEntries(
    entries.map(([name, value]) => {
      if (isSecretField(name) && typeof value === 'string') return [name, REDACTED]
      return [
        cut(name, redact, MAX_NAME_CHARS),
        clean(value, redact, { depth, maxChars: MAX_CHARS[name] ?? MAX_OTHER_CHARS }),
      ]
    }),
  )
}

function clean(value: unknown, redact: Redactor, at: { depth: number; maxChars: number }): unknown {
  if (typeof value === 'string') return cut(value, redact, at.maxChars)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (at.depth >= MAX_DEPTH) return '[…]'
  if (value instanceof Error) return cut(String(value.stack ?? value), redact, at.maxChars)
  if (!Array.isArray(value)) return cleanObject(value, redact, at.depth + 1)
  return value.slice(0, MAX_ENTRIES).map(item => clean(item, redact, { ...at, depth: at.depth + 1 }))
}

/** Cut after redaction, because a part of a key is not recognised. A text of megabytes is cut roughly first. */
function cut(text: string, redact: Redactor, maxChars: number): string {
  const clean = redact(text.slice(0, maxChars + LONGEST_SECRET_CHARS))
  return clean.length > maxChars ? clean.slice(0, maxChars) : clean
}

const MAX_NAME_CHARS = 200
const LONGEST_SECRET_CHARS = 8192
const MAX_ENTRIES = 500
const MAX_DEPTH = 6
