import { asObject, asObjects, asText, type JsonObject } from '../../common/json.ts'

export interface NativeConversation {
  /** In the order in which they were written. */
  lines: JsonObject[]
  /** How many lines name a parent that is not in the file. */
  broken: number
}

/** Lines that belong to a conversation, or connect two parts of it. */
export function isLink(line: JsonObject): boolean {
  return asText(line.uuid) !== undefined && line.isSidechain !== true
}

/**
 * The lines that the agent itself would resume from. A file is a tree: rewinding a conversation, or resuming it twice,
 * leaves branches, and the newest message is at the end of the branch that counts.
 */
export function conversationOf(links: readonly JsonObject[]): NativeConversation {
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
    // If the parent is missing, the line before is used: losing messages would be worse than a wrong order.
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

/** A summary begins a new tree; a field of it names the line that it replaces. */
function parentOf(line: JsonObject): string | undefined {
  return asText(line.parentUuid) ?? asText(line.logicalParentUuid)
}

/**
 * Adds results of tools that ran in parallel, because only one of them is the parent of the next line, and the output
 * of commands that the agent ran itself.
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
