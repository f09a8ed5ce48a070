import type { Todo } from '@chirality/core'

const MARKS = { open: '○', active: '◐', done: '●' } as const
const WORDS = { open: 'to do', active: 'at work', done: 'done' } as const

export function TodoList({ todos, seq }: { todos: readonly Todo[]; seq: number }) {
  const done = todos.filter(({ state }) => state === 'done').length
  return (
    <article className="todos" aria-label="Plan" data-seq={seq}>
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
