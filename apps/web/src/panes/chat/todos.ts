export interface Todo {
  text: string
  state: 'open' | 'active' | 'done'
}

/** A to-do list of either agent; undefined when it is none. */
export function readTodos(value: unknown): Todo[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  const todos = value.flatMap((entry: unknown): Todo[] => {
    if (typeof entry !== 'object' || entry === null) return []
    const { text, content, completed, status } = entry as Record<string, unknown>
    const words = typeof text === 'string' ? text : content
    if (typeof words !== 'string') return []
    const done = completed === true || status === 'completed'
    return [{ text: words, state: done ? 'done' : status === 'in_progress' ? 'active' : 'open' }]
  })
  return todos.length > 0 ? todos : undefined
}
