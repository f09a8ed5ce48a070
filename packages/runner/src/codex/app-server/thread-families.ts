import { codexThreadOf, concernsThreads } from '@chirality/core'
import { asObject } from '../../common/json.ts'

/** Threads of sub-agents, by the thread that started them: their news belongs to its session. */
export class ThreadFamilies {
  readonly #roots = new Map<string, string>()

  adopt(root: string, children: string[]): void {
    for (const child of children) this.#roots.set(child, root)
  }

  childrenOf(root: string): string[] {
    return [...this.#roots].flatMap(([child, parent]) => (parent === root ? [child] : []))
  }

  /** Undefined when it names no thread. */
  rootOf(raw: unknown): string | undefined {
    const id = codexThreadOf(raw)
    if (id === undefined) return undefined
    const { parentThreadId } = asObject(asObject(asObject(raw).params).thread)
    if (typeof parentThreadId === 'string') this.#roots.set(id, this.#root(parentThreadId))
    return this.#root(id)
  }

  /** Whether a session with this thread is to hear of it. What is asked in nobody's name is for nobody. */
  isFor(root: string, raw: unknown): boolean {
    const about = this.rootOf(raw)
    if (about !== undefined) return about === root
    return asObject(raw).id === undefined && concernsThreads(raw, [root, ...this.childrenOf(root)])
  }

  #root(threadId: string): string {
    return this.#roots.get(threadId) ?? threadId
  }
}
