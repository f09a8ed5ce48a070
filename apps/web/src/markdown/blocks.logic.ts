import { Lexer, type Token } from 'marked'

/**
 * Markdown cut into blocks. What comes before the last block cannot change any more when text is added, so it is kept
 * as it is, in groups: a delta costs one lexing of the last block and a render of it, however long the answer is.
 */
export interface MarkdownBlocks {
  readonly source: string
  /** Finished blocks. A full group is never touched again. */
  readonly groups: readonly (readonly Block[])[]
  /** The block that is still being written. */
  readonly tail: readonly Block[]
  readonly tailStart: number
}

export interface Block {
  readonly key: number
  readonly token: Token
}

export const NO_BLOCKS: MarkdownBlocks = { source: '', groups: [], tail: [], tailStart: 0 }

export const GROUP_SIZE = 32

export function parseBlocks(text: string, previous: MarkdownBlocks = NO_BLOCKS): MarkdownBlocks {
  const source = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text
  if (source === previous.source) return previous
  const base = source.startsWith(previous.source) ? previous : NO_BLOCKS
  const rest = source.slice(base.tailStart)
  const tokens = lex(rest)
  const count = base.groups.reduce((sum, group) => sum + group.length, 0)
  const lastBlock = tokens.findLastIndex(token => token.type !== 'space')
  const closed = coversAll(tokens, rest) ? Math.max(lastBlock, 0) : 0
  const closedChars = tokens.slice(0, closed).reduce((sum, token) => sum + token.raw.length, 0)
  const blocks = tokens.map((token, index) => ({ key: base.tailStart === 0 ? index : count + index, token }))
  return {
    source,
    groups: closed === 0 ? base.groups : addToGroups(base.groups, blocks.slice(0, closed)),
    tail: blocks.slice(closed),
    tailStart: base.tailStart + closedChars,
  }
}

function lex(source: string): Token[] {
  return new Lexer({ gfm: true, breaks: false }).lex(source)
}

/** The lexer may drop characters; then positions in the source cannot be told from its tokens. */
function coversAll(tokens: readonly Token[], source: string): boolean {
  return tokens.reduce((sum, token) => sum + token.raw.length, 0) === source.length
}

function addToGroups(
  groups: readonly (readonly Block[])[],
  blocks: readonly Block[],
): readonly (readonly Block[])[] {
  const result = [...groups]
  let open: Block[] = []
  const last = result.at(-1)
  if (last && last.length < GROUP_SIZE) {
    open = [...last]
    result.pop()
  }
  for (const block of blocks) {
    open.push(block)
    if (open.length === GROUP_SIZE) {
      result.push(open)
      open = []
    }
  }
  if (open.length > 0) result.push(open)
  return result
}
