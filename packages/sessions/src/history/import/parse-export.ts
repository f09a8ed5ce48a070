import type { Envelope, ImportedSession } from '@chirality/core'
import { isEnvelope } from '../../log/envelope-line.ts'
import { parseObject, parseSession } from '../../store/stored-session.ts'
import { ImportError } from './import-error.ts'

/** The session in a JSON export. Anybody can have written the file, so nothing in it is taken on trust. */
export function parseExport(text: string, projectRoot: string): ImportedSession {
  const { session, envelopes } = parseObject(text.replace(/^\ufeff/, '')) ?? {}
  const id = fieldOf(session, 'id')
  const parsed =
    typeof id === 'string' ? parseSession(JSON.stringify(session), { id, projectRoot }) : undefined
  if (parsed === undefined || !Array.isArray(envelopes)) {
    throw new ImportError(
      'not-an-export',
      'This is no export of a session. Make one with: chirality sessions export ID --format json',
    )
  }
  return { session: parsed, envelopes: envelopes.map(checkedEnvelope) }
}

function checkedEnvelope(value: unknown, index: number): Envelope {
  const at = fieldOf(value, 'at')
  const time = new Date(typeof at === 'string' ? at : Number.NaN)
  if (!isEnvelope(value) || Number.isNaN(time.getTime())) {
    throw new ImportError('not-an-export', `Event ${index + 1} of this export is not one. Export it again.`)
  }
  // Times are written to the log as they are: this one is ours, whatever it was.
  return { ...value, at: time.toISOString() }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
