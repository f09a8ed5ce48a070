import type { SessionItem, SessionState, TurnState } from './state.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * A state under change. Lists are copied the first time they are written to, once for a whole batch of envelopes:
 * copying them per event would make opening a long session quadratic.
 */
export class SessionDraft {
  readonly state: Mutable<SessionState>
  private readonly base: SessionState

  constructor(base: SessionState) {
    this.base = base
    this.state = { ...base }
  }

  addItem(item: SessionItem): void {
    this.ownItems().push(item)
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
    if (index >= 0) this.ownItems().splice(index, 1)
  }

  findItem(kind: SessionItem['kind'], id: string): number {
    for (let i = this.state.items.length - 1; i >= 0; i--) {
      const item = this.state.items[i]
      if (item?.id === id && item.kind === kind) return i
    }
    return -1
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
    if (this.state.live === this.base.live) this.state.live = { ...this.base.live }
    return this.state.live as Record<string, string>
  }
}
