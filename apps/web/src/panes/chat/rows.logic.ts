import type {
  PermissionRequestEvent,
  SessionItem,
  SessionState,
  StatusEvent,
  ToolItem,
  TurnState,
} from '@chirality/core'
import { type GroupKind, groupKind } from './tool-line.logic.ts'

/** Keys are the numbers of events: a row keeps its own when earlier ones come before it. */
export type ChatRow =
  | { readonly kind: 'item'; readonly key: number | string; readonly node: ItemNode }
  | { readonly kind: 'group'; readonly key: string; readonly group: ToolGroup }
  | { readonly kind: 'turn-end'; readonly key: string; readonly turn: TurnState }
  | { readonly kind: 'decision'; readonly key: string; readonly request: PermissionRequestEvent }
  | { readonly kind: 'status'; readonly key: string; readonly status: StatusEvent | null }

/** An item with what its sub-agent said and did. */
export interface ItemNode {
  readonly item: SessionItem
  readonly children: readonly ItemNode[]
}

/** Calls of one kind in a row, which are shown as one line. */
export interface ToolGroup {
  readonly kind: GroupKind
  readonly tools: readonly ToolItem[]
}

export interface ChatRows {
  readonly rows: readonly ChatRow[]
  /** Items the rows were made from; the next build starts where they differ. */
  readonly items: readonly SessionItem[]
  readonly turns: readonly TurnState[]
  /** Where the last turn begins: before it nothing changes any more. */
  readonly openItem: number
  readonly openRow: number
  readonly openTurn: number
}

export const NO_ROWS: ChatRows = { rows: [], items: [], turns: [], openItem: 0, openRow: 0, openTurn: 0 }

/** The rows of the conversation. Only the turn that is open is looked at again: a long session costs no more than it. */
export function buildRows(state: SessionState, previous: ChatRows = NO_ROWS): ChatRows {
  const { items, turns } = state
  const start = keepsClosedPart(previous, state) ? previous : NO_ROWS
  const rows = previous.rows.slice(0, start.openRow)
  let { openItem, openRow, openTurn } = start
  let turnIndex = start.openTurn - 1
  let turnSeq = 0
  let roots: MutableNode[] = []
  let nodes = new Map<string, MutableNode>()

  const flush = () => {
    rows.push(...groupNodes(roots).map(toRow))
    roots = []
    nodes = new Map()
  }
  const endTurn = () => {
    flush()
    const turn = turns[turnIndex]
    if (turn?.endedAt != null) rows.push({ kind: 'turn-end', key: `end-${turnSeq}`, turn })
  }

  for (let index = start.openItem; index < items.length; index++) {
    const item = items[index]
    if (!item) continue
    if (item.kind === 'user') {
      // The end of the turn before the open one is among the rows that were kept.
      if (index !== start.openItem || index === 0) endTurn()
      turnIndex += 1
      turnSeq = item.seq
      openItem = index
      openRow = rows.length
      openTurn = turnIndex
    }
    const node: MutableNode = { item, children: [] }
    if (item.kind === 'tool') nodes.set(item.id, node)
    const parent = item.parentToolUseId === undefined ? undefined : nodes.get(item.parentToolUseId)
    if (parent) parent.children.push(node)
    else roots.push(node)
  }
  endTurn()
  addTail(rows, state)
  return { rows, items, turns, openItem, openRow, openTurn }
}

/** Two or more calls of the same kind in a row become a group; everything else stays as it is. */
export function groupNodes(nodes: readonly ItemNode[]): readonly (ItemNode | ToolGroup)[] {
  const grouped: (ItemNode | ToolGroup)[] = []
  let run: { kind: GroupKind; nodes: (ItemNode & { item: ToolItem })[] } | undefined
  const close = () => {
    if (run && run.nodes.length > 1)
      grouped.push({ kind: run.kind, tools: run.nodes.map(({ item }) => item) })
    else if (run) grouped.push(...run.nodes)
    run = undefined
  }
  for (const node of nodes) {
    const { item, children } = node
    const kind = item.kind === 'tool' && children.length === 0 ? groupKind(item) : undefined
    if (item.kind !== 'tool' || kind === undefined) {
      close()
      grouped.push(node)
      continue
    }
    if (run?.kind !== kind) close()
    run ??= { kind, nodes: [] }
    run.nodes.push({ item, children })
  }
  close()
  return grouped
}

export function isGroup(entry: ItemNode | ToolGroup): entry is ToolGroup {
  return 'tools' in entry
}

function toRow(entry: ItemNode | ToolGroup): ChatRow {
  if (isGroup(entry)) return { kind: 'group', key: `group-${entry.tools[0]?.seq}`, group: entry }
  return { kind: 'item', key: entry.item.seq, node: { item: entry.item, children: entry.children } }
}

interface MutableNode {
  item: SessionItem
  children: MutableNode[]
}

function keepsClosedPart(previous: ChatRows, { items, turns }: SessionState): boolean {
  if (previous.openItem === 0 || items.length < previous.openItem) return false
  if (turns.length < previous.openTurn) return false
  for (let i = 0; i < previous.openItem; i++) if (items[i] !== previous.items[i]) return false
  for (let i = 0; i < previous.openTurn; i++) if (turns[i] !== previous.turns[i]) return false
  return true
}

/** Adds the rows at the end that come and go: activity of the agent, and requests that wait for a person. */
function addTail(rows: ChatRow[], { pending, phase, activity, live }: SessionState): void {
  for (const request of pending)
    rows.push({ kind: 'decision', key: `decision-${request.requestId}`, request })
  const isQuiet = phase === 'running' && pending.length === 0 && Object.keys(live).length === 0
  if (isQuiet || (activity !== null && pending.length === 0))
    rows.push({ kind: 'status', key: 'status', status: activity })
}

/** Rows where turns begin, for jumping between them. */
export function turnStarts(rows: readonly ChatRow[]): number[] {
  return rows.flatMap((row, index) => (row.kind === 'item' && row.node.item.kind === 'user' ? [index] : []))
}

/** How many steps a sub-agent took, with those of its own sub-agents. */
export function countSteps(nodes: readonly ItemNode[]): number {
  return nodes.reduce(
    (sum, { item, children }) => sum + (item.kind === 'tool' ? 1 : 0) + countSteps(children),
    0,
  )
}
