import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { HttpError } from '../errors/call-error.ts'
import { describeProblems } from '../errors/to-call-error.ts'

export interface BodyLimits {
  maxBytes: number
  /** A slower body is cut off. */
  withinMs?: number
}

/** The validated JSON of a request. Any error in it is an HttpError that says what is wrong. */
export async function readBody<S extends z.ZodType>(
  request: IncomingMessage,
  schema: S,
  { maxBytes, withinMs }: BodyLimits,
): Promise<z.output<S>> {
  const deadline = withinMs === undefined ? undefined : setTimeout(() => request.destroy(), withinMs)
  const text = await readText(request, maxBytes).finally(() => clearTimeout(deadline))
  const result = schema.safeParse(parse(text))
  if (result.success) return result.data
  throw new HttpError(400, 'invalid-input', describeProblems(result.error))
}

async function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLarge = new HttpError(413, 'too-large', `The body is larger than ${maxBytes} bytes.`)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** No body is treated as an empty object: `POST /cancel` has none. */
function parse(text: string): unknown {
  if (text === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    throw new HttpError(400, 'invalid-json', 'The body is not JSON.')
  }
}
