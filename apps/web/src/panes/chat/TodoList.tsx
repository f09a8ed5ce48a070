const MARKS = { open: '○', active: '◐', done: '●' } as const
const WORDS = { open: 'to do', active: 'at work', done: 'done' } as const

export function TodoList({ todos }: { todos: readonly Todo[] }) {
  const done = todos.filter(({ state }) => state === 'done').length
  return (
    <article className="todos" aria-label="Plan">
      <p className="todos__head">
        Plan <span className="number">{`${done} of ${todos.length}`}</span>
      </p>
      <ul>
        {todos.map((todo, index) => (
          <li key={index} className={`todos__item todos__item--${todo.state}`}>
            <span aria-hidden="true">{MARKS[todo.state]}</span>
            <span className="hidden-visually">{`${WORDS[todo.state]}: `}</span>
            <span>{todo.text}</span>
          </li>
        ))}
      </ul>
    </article>
  )
}

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
