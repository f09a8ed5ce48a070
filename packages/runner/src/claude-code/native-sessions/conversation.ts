import { asObject, asObjects, asText, type JsonObject } from '../../common/json.ts'

export interface Conversation {
  /** In the order they were written. */
  lines: JsonObject[]
  /** How often a line names a parent that is not there. */
  broken: number
}

/** Lines that can be part of a conversation, or lead from one part to the next. */
export function isLink(line: JsonObject): boolean {
  return asText(line.uuid) !== undefined && line.isSidechain !== true
}

/**
 * The lines that the agent itself would go on from. A file is a tree: going back in a conversation, or continuing it
 * twice, leaves branches, and the newest message is at the end of the one that counts.
 */
export function conversationOf(links: readonly JsonObject[]): Conversation {
  const nodes = links.map((line, index) => ({ line, index }))
  const byId = new Map<string, Node>()
  for (const node of nodes) {
    const id = String(node.line.uuid)
    if (!byId.has(id)) byId.set(id, node)
  }
  const chosen = new Set<Node>()
  let broken = 0
  let node = nodes.findLast(({ line }) => line.type === 'user' || line.type === 'assistant')
  while (node && !chosen.has(node)) {
    chosen.add(node)
    const parentId = parentOf(node.line)
    const parent = parentId === undefined ? undefined : byId.get(parentId)
    if (parentId !== undefined && !parent) broken += 1
    // Without the parent the line before it is the best that is left; what was said matters more than the order.
    const goesOn = parentId !== undefined || node.line.subtype === COMPACT_BOUNDARY
    node = parent ?? (goesOn ? nodes[node.index - 1] : undefined)
  }
  addSiblings(nodes, chosen)
  const ordered = [...chosen].sort((a, b) => a.index - b.index)
  return { lines: ordered.map(({ line }) => line), broken }
}

export const COMPACT_BOUNDARY = 'compact_boundary'
export const LOCAL_COMMAND = 'local_command'

interface Node {
  line: JsonObject
  index: number
}

/** A summary begins a new tree; the line that it stands for is named beside it. */
function parentOf(line: JsonObject): string | undefined {
  return asText(line.parentUuid) ?? asText(line.logicalParentUuid)
}

/**
 * Tools that ran at the same time: only one of their results is the parent of what follows. And what a command printed
 * that ran in the agent itself.
 */
function addSiblings(nodes: readonly Node[], chosen: Set<Node>): void {
  const ids = new Set([...chosen].map(({ line }) => line.uuid))
  for (const node of nodes) {
    if (node.line.subtype === LOCAL_COMMAND && ids.has(node.line.parentUuid)) chosen.add(node)
  }
  const messageIds = new Set([...chosen].flatMap(({ line }) => messageId(line) ?? []))
  for (const node of nodes) {
    const id = messageId(node.line)
    if (id !== undefined && messageIds.has(id)) chosen.add(node)
  }
  const calls = new Set([...chosen].flatMap(({ line }) => blocks(line).flatMap(({ id }) => asText(id) ?? [])))
  const answered = new Set([...chosen].flatMap(({ line }) => resultIds(line)))
  for (const node of nodes) {
    const isMissing = resultIds(node.line).some(id => calls.has(id) && !answered.has(id))
    if (!isMissing) continue
    chosen.add(node)
    for (const id of resultIds(node.line)) answered.add(id)
  }
}

function messageId(line: JsonObject): string | undefined {
  return line.type === 'assistant' ? asText(asObject(line.message).id) : undefined
}

function resultIds(line: JsonObject): string[] {
  if (line.type !== 'user') return []
  return blocks(line).flatMap(block => asText(block.tool_use_id) ?? [])
}

function blocks(line: JsonObject): JsonObject[] {
  return asObjects(asObject(line.message).content)
}
