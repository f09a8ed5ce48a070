import { isSecretField } from '../../harness-log/clean-data.ts'
import { REDACTED, type Redactor } from '../../harness-log/redact.ts'

/** A value with the secrets taken out of all its texts, and of fields whose name says that they hold one. */
export function redactValue(value: unknown, redact: Redactor, depth = 0): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return TOO_DEEP
  if (Array.isArray(value)) return value.map(item => redactValue(item, redact, depth + 1))
  const entries = Object.entries(value).map(([name, field]) => {
    const isSecret = typeof field === 'string' && isSecretField(name)
    return [redact(name), isSecret ? REDACTED : redactValue(field, redact, depth + 1)]
  })
  return Object.fromEntries(entries)
}

/** An agent's own events are kept as they came, however they are nested. */
const MAX_DEPTH = 200
const TOO_DEEP = '[nested too deep]'
