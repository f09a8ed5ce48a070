import type { NoticeItem } from '@chirality/core'
import { Markdown } from '../../markdown/Markdown.tsx'
import { TodoList } from './TodoList.tsx'
import { readTodos, type Todo } from './todos.ts'

/** Retries, limits, hooks, tasks: said once, quietly. */
export function NoticeLine({ item }: { item: NoticeItem }) {
  const todos: Todo[] | undefined = readTodos(item.data?.todos)
  if (todos) return <TodoList todos={todos} />
  // The end of the turn says so.
  if (item.status === 'interrupted') return null
  const isPerson = item.data?.kind === 'user_message'
  if (isPerson) return <div className="you you--added">{item.message}</div>
  // How a sub-agent ended, in its own words.
  if (item.status === 'task' && typeof item.data?.summary === 'string') {
    return (
      <div className={`quiet-line quiet-line--${item.level}`}>
        <Markdown text={item.message} />
      </div>
    )
  }
  return <p className={`quiet-line quiet-line--${item.level}`}>{item.message}</p>
}
