import { codexThreadOf, concernsThreads } from '@chirality/core'
import { asObject } from '../../common/json.ts'
import { toRpcMessage } from '../../process/json-rpc.ts'

/** Threads of sub-agents, by the thread that started them: their messages belong to its session. */
export class ThreadFamilies {
  readonly #roots = new Map<string, string>()

  adopt(root: string, children: string[]): void {
    for (const child of children) this.#roots.set(child, root)
  }

  childrenOf(root: string): string[] {
    return [...this.#roots].flatMap(([child, parent]) => (parent === root ? [child] : []))
  }

  /** Undefined if the message names no thread. */
  rootOf(raw: unknown): string | undefined {
    const id = codexThreadOf(raw)
    if (id === undefined) return undefined
    const { parentThreadId } = asObject(asObject(asObject(raw).params).thread)
    if (typeof parentThreadId === 'string') this.#roots.set(id, this.#root(parentThreadId))
    return this.#root(id)
  }

  /** Whether a session with this thread receives the message. A request without a thread goes to no session. */
  isFor(root: string, raw: unknown): boolean {
    const about = this.rootOf(raw)
    if (about !== undefined) return about === root
    return asObject(raw).id === undefined && concernsThreads(raw, [root, ...this.childrenOf(root)])
  }

  #root(threadId: string): string {
    return this.#roots.get(threadId) ?? threadId
  }
}

/**
 * Selects the lines of an app-server's spool that are about one thread, its sub-agents included, or about the server
 * itself. It has to see all lines from the beginning of a turn, because a sub-agent's parent is named only once.
 */
export class ThreadLines {
  readonly #families = new ThreadFamilies()
  readonly #root: string
  readonly #ids: Buffer[]

  constructor([root = '', ...children]: readonly string[]) {
    this.#root = root
    this.#families.adopt(root, children)
    this.#ids = [root, ...children].map(id => Buffer.from(id))
  }

  /** An incomplete message belongs to no thread. */
  isOurs(line: Buffer): boolean {
    const isNamed = this.#ids.some(id => line.includes(id))
    // Most lines are about other threads, so they are not parsed.
    if (!isNamed && (line.includes(THREAD_ID) || line.includes(THREAD))) return false
    const value = parse(line)
    return value === undefined ? false : this.#isAbout(value)
  }

  #isAbout(value: unknown): boolean {
    const message = toRpcMessage(value)
    if (message.kind === 'noise') return false
    // The answer to another thread's request may contain its whole history.
    if (message.kind === 'response') return this.#root === asObject(asObject(message.result).thread).id
    if (!this.#families.isFor(this.#root, value)) return false
    this.#noteChild(value)
    return true
  }

  #noteChild(value: unknown): void {
    const id = codexThreadOf(value)
    if (id === undefined || this.#ids.some(known => known.equals(Buffer.from(id)))) return
    this.#ids.push(Buffer.from(id))
  }
}

const THREAD_ID = '"threadId"'
const THREAD = '"thread"'

function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'))
  } catch {
    return undefined
  }
}
