import {
  described,
  type Envelope,
  optional,
  type PermissionRequestEvent,
  SESSION_ERROR_CODE,
  type Shape,
  TEXT_REF,
  TURN_END_REASON,
  UI_EVENTS,
  type UIEvent,
} from '@chirality/core'
import { z } from 'zod'

// The events of a session, as core describes them. docs/events.md has the rules that each event follows.

/** The schema of a shape of core. Objects have no further fields. */
function zodOf<T>(shape: Shape<T>): z.ZodType<T>
function zodOf(shape: Shape): z.ZodType {
  const { about, isNullable, isOptional } = shape
  const plain = plainSchema(shape)
  const nullable = isNullable ? plain.nullable() : plain
  const schema = isOptional ? nullable.optional() : nullable
  return about === undefined ? schema : schema.describe(about)
}

function plainSchema(shape: Shape): z.ZodType {
  switch (shape.is) {
    case 'text':
      return z.string()
    case 'number':
      return z.number()
    case 'flag':
      return z.boolean()
    case 'record':
      return z.record(z.string(), z.unknown())
    case 'anything':
      return z.unknown()
    case 'absent':
      return z.undefined()
    case 'name': {
      const [only = '', ...more] = shape.names
      return more.length === 0 ? z.literal(only) : z.enum([only, ...more])
    }
    case 'list':
      return z.array(zodOf(shape.of))
    case 'either':
      return z.union(shape.of.map(one => zodOf(one)))
    case 'object': {
      const { fields, id } = shape
      const known = Object.entries(fields).filter(([, { is }]) => is !== 'absent')
      const schema = z.strictObject(Object.fromEntries(known.map(([name, field]) => [name, zodOf(field)])))
      return id === undefined ? schema : (NAMED.get(id) ?? named(id, schema))
    }
  }
}

/** One schema for each name: it may occur in many places. */
const NAMED = new Map<string, z.ZodType>()

function named(id: string, schema: z.ZodType): z.ZodType {
  const named = schema.meta({ id })
  NAMED.set(id, named)
  return named
}

/** With `textOnce`: `text` is empty, because the reader has had it in the pieces from this `seq` to that. */
const sentBefore = described(
  optional(TEXT_REF),
  'Where the text was sent before, if `textOnce` was asked for.',
)

function eventSchema([type, shape]: [type: string, shape: Shape]): z.ZodType {
  const mayBeSentBefore = type === 'chat:complete' || type === 'chat:message'
  if (!mayBeSentBefore || shape.is !== 'object') return zodOf(shape)
  return zodOf({ ...shape, fields: { ...shape.fields, textOf: sentBefore } })
}

export const errorCode = zodOf(SESSION_ERROR_CODE)
export const turnEndReason = zodOf(TURN_END_REASON)
export const permissionRequest: z.ZodType<PermissionRequestEvent> = zodOf(UI_EVENTS['permission:request'])

export const uiEvent = z.union(Object.entries(UI_EVENTS).map(eventSchema)).meta({
  id: 'UIEvent',
  description: 'What happened, by its `type`. docs/events.md has the rules.',
}) as z.ZodType<UIEvent>

export const envelope = z
  .strictObject({
    seq: z.int().positive().describe('Dense and increasing from 1 within a session.'),
    at: z.string().describe('ISO 8601.'),
    sessionId: z.string(),
    turnId: z.string().nullable(),
    event: uiEvent,
  })
  .meta({ id: 'Envelope' }) satisfies z.ZodType<Envelope>
