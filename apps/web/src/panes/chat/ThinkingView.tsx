import type { ThinkingItem } from '@chirality/core'
import { useLiveText } from '../../state/session/use-session.ts'
import { Icon } from '../../ui/marks/Icon.tsx'

/** Folded away: who wants to know how it came to its answer can open it. */
export function ThinkingView({ item }: { item: ThinkingItem }) {
  const live = useLiveText(item.id)
  const text = item.streaming ? (live ?? '') : item.text
  return (
    <details className="think">
      <summary>
        <Icon name="chevron" size={12} />
        {item.streaming ? 'Thinking' : 'Thought'}
        <span className="number">{wordCount(text)}</span>
      </summary>
      <div className="think__text">{text}</div>
    </details>
  )
}

function wordCount(text: string): string {
  const words = text.length === 0 ? 0 : Math.max(1, Math.round(text.length / CHARS_PER_WORD))
  return `~${words} words`
}

const CHARS_PER_WORD = 6
