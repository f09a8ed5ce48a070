import type { SessionItem, SessionState } from './state.ts'
import type { TurnState } from './summary.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * A state under change. Lists are copied the first time they are written to, once for a whole batch of envelopes:
 * copying them per event would make opening a long session quadratic.
 */
export class SessionDraft {
  readonly state: Mutable<SessionState>
  private readonly base: SessionState
  /** Where the newest item of each id is; made when it is needed. */
  #places: Map<string, number> | undefined

  constructor(base: SessionState) {
    this.base = base
    this.state = { ...base }
  }

  addItem(item: SessionItem): void {
    const items = this.ownItems()
    items.push(item)
    this.#places?.set(placeOf(item), items.length - 1)
  }

  /** Replaces the newest item with this id and kind. Searches from the end: what changes is almost always recent. */
  updateItem<K extends SessionItem['kind']>(
    kind: K,
    id: string,
    change: (item: Extract<SessionItem, { kind: K }>) => SessionItem,
  ): boolean {
    const index = this.findItem(kind, id)
    if (index < 0) return false
    const item = this.state.items[index] as Extract<SessionItem, { kind: K }>
    this.ownItems()[index] = change(item)
    return true
  }

  removeItem(kind: SessionItem['kind'], id: string): void {
    const index = this.findItem(kind, id)
    if (index < 0) return
    this.ownItems().splice(index, 1)
    this.#places = undefined
  }

  findItem(kind: SessionItem['kind'], id: string): number {
    const { items } = this.state
    const recent = Math.max(0, items.length - RECENT_ITEMS)
    for (let i = items.length - 1; i >= recent; i--) {
      const item = items[i]
      if (item?.id === id && item.kind === kind) return i
    }
    if (recent === 0) return -1
    // What is not there has to be looked for everywhere, but once for a batch: a long log is full of such messages.
    this.#places ??= new Map(items.map((item, index) => [placeOf(item), index]))
    return this.#places.get(placeOf({ kind, id })) ?? -1
  }

  appendLive(id: string, text: string): void {
    const live = this.ownLive()
    live[id] = (live[id] ?? '') + text
  }

  /** Takes the live text out: what is written is no longer being written. */
  takeLive(id: string): string {
    const text = this.state.live[id]
    if (text === undefined) return ''
    delete this.ownLive()[id]
    return text
  }

  addTurn(turn: TurnState): void {
    this.ownTurns().push(turn)
  }

  updateLastTurn(change: (turn: TurnState) => TurnState): void {
    const last = this.state.turns.at(-1)
    if (last) this.ownTurns()[this.state.turns.length - 1] = change(last)
  }

  private ownItems(): SessionItem[] {
    if (this.state.items === this.base.items) this.state.items = [...this.base.items]
    return this.state.items as SessionItem[]
  }

  private ownTurns(): TurnState[] {
    if (this.state.turns === this.base.turns) this.state.turns = [...this.base.turns]
    return this.state.turns as TurnState[]
  }

  private ownLive(): Record<string, string> {
    // Ids are the agent's: `__proto__` must be one like any other.
    if (this.state.live === this.base.live)
      this.state.live = Object.assign(Object.create(null), this.base.live)
    return this.state.live as Record<string, string>
  }
}

/** Almost everything that changes is this near to the end. */
const RECENT_ITEMS = 200

function placeOf({ kind, id }: Pick<SessionItem, 'kind' | 'id'>): string {
  return `${kind} ${id}`
}
