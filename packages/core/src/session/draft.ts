import type { SessionItem, SessionState } from './state.ts'
import type { TurnState } from './summary.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * A state that is being changed. Lists are copied the first time they are written to, once for a whole batch of
 * envelopes: copying them for each event would make opening a long session quadratic.
 */
export class SessionDraft {
  readonly state: Mutable<SessionState>
  private readonly base: SessionState
  /** The index of the newest item of each id; built on demand. */
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

  /**
   * Replaces the newest item with this id and kind. Searches from the end, because changed items are almost always
   * recent.
   */
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
    // A missing item is searched for in the whole list, but only once for a batch: a long log has many such messages.
    this.#places ??= new Map(items.map((item, index) => [placeOf(item), index]))
    return this.#places.get(placeOf({ kind, id })) ?? -1
  }

  appendLive(id: string, text: string): void {
    const live = this.ownLive()
    live[id] = (live[id] ?? '') + text
  }

  /** Removes the live text of an item that is complete. */
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
    // Ids come from the agent, so `__proto__` must work like any other.
    if (this.state.live === this.base.live)
      this.state.live = Object.assign(Object.create(null), this.base.live)
    return this.state.live as Record<string, string>
  }
}

/** Almost every change is this close to the end. */
const RECENT_ITEMS = 200

function placeOf({ kind, id }: Pick<SessionItem, 'kind' | 'id'>): string {
  return `${kind} ${id}`
}
