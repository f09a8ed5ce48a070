import { z } from 'zod'
import { SIDE_KINDS } from './side-request.ts'

const count = z.int().min(0)
const milliseconds = z.number().min(0)
const headers = z.record(
  z.string().regex(/^[\w-]+$/),
  // Node refuses to send control characters.
  z.string().regex(/^[\t\x20-\x7e]*$/, { error: 'not a header value' }),
  { error: issue => (issue.code === 'invalid_key' ? 'not a header name' : undefined) },
)

const generatedText = strict({
  repeat: z.string().min(1),
  /** Size in UTF-8. The last repetition is cut at a character boundary. */
  bytes: count,
})
const literalText = z.string()
/** A literal text, or a generated one for outputs too big to write down. */
const text = chosenBy(value => (typeof value === 'object' && value !== null ? generatedText : literalText))

const jsonInput = z.record(z.string(), z.unknown())
/** A string is sent as it is: a free-form call in the Responses API, unchecked JSON in the Messages API. */
const toolInput = chosenBy(value => (typeof value === 'string' ? literalText : jsonInput))

const textBlock = strict({ text })
const thinkingBlock = strict({ thinking: text, signature: z.string().optional() })
const toolBlock = strict({
  tool: z.string().min(1),
  input: toolInput.optional(),
  id: z.string().min(1).optional(),
  /** Responses API only: the namespace of an MCP tool. */
  namespace: z.string().optional(),
})
/** A content block (Messages) or output item (Responses) that scripts have no word for. */
const rawBlock = strict({ raw: z.looseObject({ type: z.string() }) })
const block = chosenByKey<typeof textBlock | typeof thinkingBlock | typeof toolBlock | typeof rawBlock>(
  'a block',
  { text: textBlock, thinking: thinkingBlock, tool: toolBlock, raw: rawBlock },
)

const usage = strict({
  input: count.optional(),
  output: count.optional(),
  cacheRead: count.optional(),
  cacheWrite: count.optional(),
  /** Responses API only. */
  reasoning: count.optional(),
})

const nothing = z.literal('nothing')
/** A number of content deltas, or `nothing`: not even the response headers. */
const progress = chosenBy(value => (typeof value === 'string' ? nothing : count))

const all = z.literal('all')
const oneOrMore = z.int().min(1)

const pacing = {
  /** Wait before the response headers. */
  delayMs: milliseconds.optional(),
  /** Wait before each content delta. */
  chunkDelayMs: milliseconds.optional(),
  /** Characters in one content delta, or `all` for one delta a block. */
  chunkChars: chosenBy(value => (typeof value === 'string' ? all : oneOrMore)).optional(),
  usage: usage.optional(),
}

const delivery = {
  ...pacing,
  stopReason: z
    .enum([
      'end_turn',
      'tool_use',
      'max_tokens',
      'stop_sequence',
      'pause_turn',
      'refusal',
      'model_context_window_exceeded',
    ])
    .optional(),
  headers: headers.optional(),
  /** Go silent after so many deltas, until `release()` or until the client leaves. */
  stallAfter: progress.optional(),
  /** Destroy the socket after so many deltas. */
  cutAfter: progress.optional(),
  /** An error event inside a stream that began well. */
  streamError: strict({
    after: count,
    type: z.string().optional(),
    message: z.string().optional(),
  }).optional(),
  /** Serve this answer so many times before the next one. */
  times: oneOrMore.optional(),
}

const blocksReply = strict({ blocks: z.array(block).min(1), ...delivery })
/** One thinking, one text and one tool call at most, sent in that order. */
const shortReply = strict({
  ...thinkingBlock.partial().shape,
  ...textBlock.partial().shape,
  ...toolBlock.partial().shape,
  ...delivery,
})
  .refine(
    ({ tool, input, id, namespace }) => tool !== undefined || (input ?? id ?? namespace) === undefined,
    {
      error: '`input`, `id` and `namespace` belong to a `tool`, and there is none',
    },
  )
  .refine(({ thinking, signature }) => thinking !== undefined || signature === undefined, {
    error: '`signature` belongs to a `thinking`, and there is none',
  })

const status = z.int().min(400).max(599)
const errorDetails = strict({
  status,
  /** Default: what the API says for that status. */
  type: z.string().optional(),
  message: z.string().optional(),
  retryAfterSeconds: z.number().min(0).optional(),
  headers: headers.optional(),
  /** Replaces the whole JSON body. */
  body: z.unknown().optional(),
})
const failure = strict({
  error: chosenBy(value => (typeof value === 'object' && value !== null ? errorDetails : status)),
  delayMs: milliseconds.optional(),
  times: oneOrMore.optional(),
})

const answerObject = chosenByKey<typeof blocksReply | typeof shortReply | typeof failure>('an answer', {
  error: failure,
  blocks: blocksReply,
  text: shortReply,
  thinking: shortReply,
  tool: shortReply,
})
const answer = chosenBy(value => (typeof value === 'string' ? literalText : answerObject))

const pattern = z.string().refine(isPattern, { error: 'not a regular expression' })
const when = strict({
  modelContains: z.string().optional(),
  systemContains: z.string().optional(),
  /** The text the person typed last; tool results are not it. */
  lastUserContains: z.string().optional(),
  lastUserMatches: pattern.optional(),
  /** The first user message, which stays the same while a conversation grows. */
  conversationContains: z.string().optional(),
  toolResultContains: z.string().optional(),
  toolResultMatches: pattern.optional(),
  hasTool: z.string().optional(),
  subAgent: z.boolean().optional(),
  /** A request that Claude Code makes beside the conversation. */
  side: z.enum(SIDE_KINDS).optional(),
  api: z.enum(['messages', 'responses', 'chat', 'gemini']).optional(),
  /** The request offers no tool: most agents ask for titles and summaries in such requests. */
  withoutTools: z.boolean().optional(),
}).refine(conditions => Object.keys(conditions).length > 0, {
  error: 'an empty `when` would match every request; put those answers at the top level',
})

const route = strict({
  when,
  answers: z.array(answer),
  /** When the route's answers are used up. Default: the script's `otherwise`. */
  otherwise: answer.optional(),
})

export const scriptSchema = strict({
  /** The main conversation, one entry a model request. */
  answers: z.array(answer).optional(),
  /** Tried in order; the first whose `when` fits owns the request. */
  routes: z.array(route).optional(),
  /** When the answers are used up. Default: an error 400 that says so. */
  otherwise: answer.optional(),
  /** Pacing and usage of every reply that does not set its own. */
  defaults: strict(pacing).optional(),
  /** Token count that `count_tokens` reports. Default: a quarter of the request's characters. */
  countTokens: count.optional(),
})

export type Script = z.infer<typeof scriptSchema>
export type ScriptAnswer = z.infer<typeof answer>
export type ScriptBlock = z.infer<typeof block>
export type ScriptFailure = z.infer<typeof failure>
export type ScriptReply = z.infer<typeof blocksReply> | z.infer<typeof shortReply>
export type ScriptText = z.infer<typeof text>
export type ScriptUsage = z.infer<typeof usage>
export type ScriptWhen = z.infer<typeof when>
export type StopReason = NonNullable<ScriptReply['stopReason']>

function isPattern(source: string): boolean {
  try {
    new RegExp(source)
    return true
  } catch {
    return false
  }
}

/** An object that refuses unknown keys with a message that says which keys exist. */
function strict<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const allowed = Object.keys(shape)
  return z.strictObject(shape, {
    error: issue =>
      issue.code === 'unrecognized_keys' ? unknownKeys(issue.keys as string[], allowed) : undefined,
  })
}

/** Picks one schema by looking at the value. Unlike `z.union`, the errors are those of the schema the author meant. */
function chosenBy<Schema extends z.ZodType>(choose: (value: unknown) => Schema) {
  return z.unknown().transform((value, context): z.output<Schema> => {
    const result = choose(value).safeParse(value)
    if (result.success) return result.data
    for (const issue of result.error.issues)
      context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue)
    return z.NEVER
  })
}

/** Picks the schema by the first key of `table` that the object has. */
function chosenByKey<Schema extends z.ZodType>(noun: string, table: Record<string, Schema>) {
  const keys = Object.keys(table)
  return chosenBy((value: unknown): Schema => {
    const key = keys.find(candidate => has(value, candidate))
    const schema = key === undefined ? undefined : table[key]
    // A schema that always fails: it exists only for its message.
    return schema ?? (z.never({ error: missingKey(noun, keys) }) as unknown as Schema)
  })
}

function missingKey(noun: string, keys: string[]) {
  return ({ input }: { input?: unknown }): string => {
    const needs = `${noun} needs one of the keys ${keys.join(', ')}`
    if (typeof input !== 'object' || input === null) return needs
    const near = Object.keys(input).flatMap(key => didYouMean(key, keys) ?? [])
    return near[0] ? `${needs}; did you mean "${near[0]}"?` : needs
  }
}

function unknownKeys(unknown: string[], allowed: string[]): string {
  const named = unknown.map(key => {
    const near = didYouMean(key, allowed)
    return near ? `"${key}", did you mean "${near}"?` : `"${key}".`
  })
  return `unknown key ${named.join(' And ')} Allowed here: ${allowed.join(', ')}`
}

function has(value: unknown, key: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
}

/** The candidate that a person most likely meant, if one is near enough. */
export function didYouMean(written: string, candidates: readonly string[]): string | undefined {
  const word = plain(written)
  let best: string | undefined
  let bestDistance = Math.ceil(word.length / 3) + 1
  for (const candidate of candidates) {
    const distance = isStart(word, plain(candidate)) ? 1 : editDistance(word, plain(candidate))
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** `stop_reason`, `stop-reason` and `stopReason` are the same word to the person who typed it. */
function plain(word: string): string {
  return word.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** `retryAfter` for `retryAfterSeconds`: the unit is what people leave out. */
function isStart(word: string, candidate: string): boolean {
  return word.length >= 4 && candidate.startsWith(word)
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1)
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[right.length] ?? 0
}
