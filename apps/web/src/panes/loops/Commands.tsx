import { visibleText } from '@chirality/core'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import '../page.css'
import './loops.css'

/** Commands of a task list, word for word: characters without a shape are shown, too. */
export function Commands({ title, commands }: { title: string; commands: readonly string[] }) {
  if (commands.length === 0) return null
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ScrollRegion className="page__text page__text--short loops__planned" label={`Commands: ${title}`}>
        {commands.map((command, index) => (
          <pre key={index}>{visibleText(command)}</pre>
        ))}
      </ScrollRegion>
    </section>
  )
}
