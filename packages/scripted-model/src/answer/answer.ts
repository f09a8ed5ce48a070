import type {
  Script,
  ScriptAnswer,
  ScriptBlock,
  ScriptReply,
  ScriptText,
  StopReason,
} from '../script/script.ts'

/** A script's answer with every shorthand spelled out and every default filled in. */
export type Answer = Reply | Failure

export interface Reply {
  kind: 'reply'
  blocks: Block[]
  usage: Usage
  stopReason: StopReason
  headers: Record<string, string>
  delayMs: number
  chunkDelayMs: number
  chunkChars: number | 'all' | undefined
  stallAfter: number | 'nothing' | undefined
  cutAfter: number | 'nothing' | undefined
  streamError: { after: number; type?: string; message?: string } | undefined
}

export interface Failure {
  kind: 'failure'
  status: number
  type?: string
  message?: string
  body?: unknown
  headers: Record<string, string>
  delayMs: number
}

export type Block =
  | { type: 'text'; text: ScriptText }
  | { type: 'thinking'; thinking: ScriptText; signature: string }
  | { type: 'tool'; name: string; input: Record<string, unknown> | string; id?: string; namespace?: string }
  | { type: 'raw'; raw: { type: string; [key: string]: unknown } }

export interface Usage {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  reasoning: number
}

export function toAnswer(written: ScriptAnswer, defaults: Script['defaults'] = {}): Answer {
  if (typeof written === 'string') return toReply({ text: written }, defaults)
  return 'error' in written ? toFailure(written) : toReply(written, defaults)
}

/** Constants, not estimates: a golden file must not change with the length of a path in the request. */
const DEFAULT_USAGE: Usage = { input: 100, output: 20, cacheRead: 0, cacheWrite: 0, reasoning: 0 }

/** Looks like the opaque base64 that the API signs thinking with. */
const DEFAULT_SIGNATURE = 'c2NyaXB0ZWQtbW9kZWw='

function toReply(written: ScriptReply, defaults: NonNullable<Script['defaults']>): Reply {
  const blocks = ('blocks' in written ? written.blocks : shortBlocks(written)).map(toBlock)
  return {
    kind: 'reply',
    blocks,
    usage: { ...DEFAULT_USAGE, ...defaults.usage, ...written.usage },
    stopReason: written.stopReason ?? (blocks.some(block => block.type === 'tool') ? 'tool_use' : 'end_turn'),
    headers: written.headers ?? {},
    delayMs: written.delayMs ?? defaults.delayMs ?? 0,
    chunkDelayMs: written.chunkDelayMs ?? defaults.chunkDelayMs ?? 0,
    chunkChars: written.chunkChars ?? defaults.chunkChars,
    stallAfter: written.stallAfter,
    cutAfter: written.cutAfter,
    streamError: written.streamError,
  }
}

function shortBlocks(written: Exclude<ScriptReply, { blocks: unknown }>): ScriptBlock[] {
  const { thinking, signature, text, tool, input, id, namespace } = written
  const blocks: ScriptBlock[] = []
  if (thinking !== undefined) blocks.push({ thinking, signature })
  if (text !== undefined) blocks.push({ text })
  if (tool !== undefined) blocks.push({ tool, input, id, namespace })
  return blocks
}

function toBlock(block: ScriptBlock): Block {
  if ('text' in block) return { type: 'text', text: block.text }
  if ('raw' in block) return { type: 'raw', raw: block.raw }
  if ('tool' in block) {
    const { tool, input = {}, id, namespace } = block
    return { type: 'tool', name: tool, input, id, namespace }
  }
  return { type: 'thinking', thinking: block.thinking, signature: block.signature ?? DEFAULT_SIGNATURE }
}

function toFailure({ error, delayMs = 0 }: Extract<ScriptAnswer, { error: unknown }>): Failure {
  if (typeof error === 'number') return { kind: 'failure', status: error, headers: {}, delayMs }
  const { retryAfterSeconds, headers, ...details } = error
  const retryAfter: Record<string, string> =
    retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  return { kind: 'failure', ...details, headers: { ...retryAfter, ...headers }, delayMs }
}
