import type { ClaudeEvent, NdjsonRecord, UIEvent } from '@chirality/core'
import { AsyncQueue } from '../../common/async-queue.ts'
import type { FileDamage } from '../../process/output/tail.ts'

/** What reaches a turn, in order. */
export type InboxItem =
  | { kind: 'record'; record: NdjsonRecord; event: ClaudeEvent | null }
  /** Something of ours that a person is told. */
  | { kind: 'told'; event: UIEvent }
  | { kind: 'spool-damaged'; path: string; damage: FileDamage }
  /** The agent has had nothing to do for a while. */
  | { kind: 'rested' }

/** What the agent printed and no turn has taken yet. Full, it lets the rest wait in the spool. */
export class Inbox {
  readonly #items = new AsyncQueue<InboxItem>()
  #bytes = 0
  #maxBytes = MAX_WAITING_BYTES
  #makeRoom: (() => void) | null = null

  /** What it gives, if anything, resolves when there is room for more. */
  push(item: InboxItem): Promise<void> | undefined {
    this.#items.push(item)
    if (item.kind === 'record') this.#bytes += item.record.bytes
    if (this.#bytes <= this.#maxBytes) return undefined
    return new Promise(resolve => {
      this.#makeRoom = resolve
    })
  }

  /** The next item, if it is there already. One reader at a time; who stops reading leaves the rest to the next. */
  take(): InboxItem | undefined {
    const item = this.#items.take()
    if (item?.kind === 'record') this.#bytes -= item.record.bytes
    if (item !== undefined && this.#bytes <= this.#maxBytes) this.#makeRoom?.()
    return item
  }

  /** To be called when there is nothing to take. False when nothing more comes. */
  more(): Promise<boolean> {
    return this.#items.more()
  }

  async *read(): AsyncGenerator<InboxItem> {
    do {
      for (let item = this.take(); item !== undefined; item = this.take()) yield item
    } while (await this.more())
  }

  /** The agent is going: what it still says is taken in, so that nobody waits for a reader who may never come. */
  openWide(): void {
    this.#maxBytes = Number.POSITIVE_INFINITY
    this.#makeRoom?.()
  }

  end(): void {
    this.#items.end()
  }
}

const MAX_WAITING_BYTES = 1024 * 1024
