import type { Suggestion } from './use-completions.ts'

interface CompletionListProps {
  listId: string
  suggestions: readonly Suggestion[]
  active: number
  choose(name: string): void
}

export function CompletionList({ listId, suggestions, active, choose }: CompletionListProps) {
  if (suggestions.length === 0) return null
  return (
    <div className="completions" role="listbox" id={listId} aria-label="Suggestions">
      {suggestions.map(({ name, note }, index) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and points here
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
        <div
          key={name}
          id={`${listId}-${index}`}
          role="option"
          aria-selected={index === active}
          className={index === active ? 'completions__item completions__item--on' : 'completions__item'}
          onMouseDown={event => event.preventDefault()}
          onClick={() => choose(name)}
        >
          <span className="completions__name">{name}</span>
          {note ? <span className="completions__note truncate">{note}</span> : null}
        </div>
      ))}
    </div>
  )
}
