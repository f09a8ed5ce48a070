import { REDACTED, type Redactor } from './redact.ts'
import { MAX_CHARS, MAX_OTHER_CHARS } from './rows.ts'

/** Data fit for the log: without secrets, with its texts cut, and never deeper or wider than a line can bear. */
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

/** Cut after redacting: half a key would not be known for one. Roughly cut before, because a text can be megabytes. */
function cut(text: string, redact: Redactor, maxChars: number): string {
  const clean = redact(text.slice(0, maxChars + LONGEST_SECRET_CHARS))
  return clean.length > maxChars ? clean.slice(0, maxChars) : clean
}

/** Whether a field holds a secret, by its name. */
export function isSecretField(name: string): boolean {
  return SECRET_WORD.test(name) || SECRET_VARIABLE.test(name)
}

const SECRET_WORD =
  /^(?:.*_)?(?:api_?key|access_?key(?:_?id)?|secret|password|passwd|passphrase|credentials?|token|authorization)$/i
/** Short words mean it only in the name of a variable. */
const SECRET_VARIABLE = /^[A-Z0-9_]+_(?:PWD|PASS|PW|PAT|KEY|AUTH|JWT|DSN|CREDS?|WEBHOOK(?:_URL)?)$/
const MAX_NAME_CHARS = 200
const LONGEST_SECRET_CHARS = 8192
const MAX_ENTRIES = 500
const MAX_DEPTH = 6
