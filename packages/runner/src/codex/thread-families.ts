import { asObject } from '../native-sessions/json.ts'

/** Threads of sub-agents, by the thread that started them: their news belongs to its session. */
export class ThreadFamilies {
  readonly #roots = new Map<string, string>()

  adopt(root: string, children: string[]): void {
    for (const child of children) this.#roots.set(child, root)
  }

  childrenOf(root: string): string[] {
    return [...this.#roots].flatMap(([child, parent]) => (parent === root ? [child] : []))
  }

  /** Undefined when it is about no thread. */
  rootOf(raw: unknown): string | undefined {
    const { threadId, thread } = asObject(asObject(raw).params)
    const { id: startedId, parentThreadId } = asObject(thread)
    const id = threadId ?? startedId
    if (typeof id !== 'string') return undefined
    if (typeof parentThreadId === 'string') this.#roots.set(id, this.#root(parentThreadId))
    return this.#root(id)
  }

  #root(threadId: string): string {
    return this.#roots.get(threadId) ?? threadId
  }
}
