import { codexThreadOf } from '@chirality/core'
import { asObject } from '../../common/json.ts'
import { toRpcMessage } from './json-rpc.ts'
import { ThreadFamilies } from './thread-families.ts'

/**
 * Which lines of an app-server's spool are about one thread, its sub-agents included, or about the server itself. Lines
 * have to be shown to it from the beginning of a turn on: whose child a thread is, is said once.
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

  /** What is no whole message is nobody's. */
  isOurs(line: Buffer): boolean {
    const isNamed = this.#ids.some(id => line.includes(id))
    // Most lines are about other threads: they are not parsed.
    if (!isNamed && (line.includes(THREAD_ID) || line.includes(THREAD))) return false
    const value = parse(line)
    return value === undefined ? false : this.#isAbout(value)
  }

  #isAbout(value: unknown): boolean {
    const message = toRpcMessage(value)
    if (message.kind === 'noise') return false
    // An answer of another thread may hold all of its history.
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
