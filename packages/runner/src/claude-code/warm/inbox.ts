import type { ClaudeEvent, NdjsonRecord, UIEvent } from '@chirality/core'
import { AsyncQueue } from '../../common/async-queue.ts'
import type { FileDamage } from '../../process/output/tail.ts'

/** An item that a turn reads, in order. */
export type InboxItem =
  | { kind: 'record'; record: NdjsonRecord; event: ClaudeEvent | null }
  /** An event that the runner itself emits. */
  | { kind: 'told'; event: UIEvent }
  | { kind: 'spool-damaged'; path: string; damage: FileDamage }
  /** The agent has been idle for a while. */
  | { kind: 'rested' }

/** The agent's output that no turn has read yet. When it is full, the rest waits in the spool. */
export class Inbox {
  readonly #items = new AsyncQueue<InboxItem>()
  #bytes = 0
  #maxBytes = MAX_WAITING_BYTES
  #makeRoom: (() => void) | null = null

  /** Returns a promise if the inbox is full; it resolves when there is room again. */
  push(item: InboxItem): Promise<void> | undefined {
    this.#items.push(item)
    if (item.kind === 'record') this.#bytes += item.record.bytes
    if (this.#bytes <= this.#maxBytes) return undefined
    return new Promise(resolve => {
      this.#makeRoom = resolve
    })
  }

  /** The next item, if there is one. One reader at a time; items that it does not take stay for the next reader. */
  take(): InboxItem | undefined {
    const item = this.#items.take()
    if (item?.kind === 'record') this.#bytes -= item.record.bytes
    if (item !== undefined && this.#bytes <= this.#maxBytes) this.#makeRoom?.()
    return item
  }

  /** What `take` would give. */
  peek(): InboxItem | undefined {
    return this.#items.peek()
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

  /** The agent is exiting: takes all its remaining output, because waiting for a reader could block forever. */
  openWide(): void {
    this.#maxBytes = Number.POSITIVE_INFINITY
    this.#makeRoom?.()
  }

  end(): void {
    this.#items.end()
  }
}

const MAX_WAITING_BYTES = 1024 * 1024
