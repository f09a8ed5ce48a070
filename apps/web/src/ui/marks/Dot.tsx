import './dot.css'

export type DotTone = 'quiet' | 'work' | 'need' | 'ok' | 'bad'

/** Status is a dot and a word, never the dot alone. */
export function Dot({ tone }: { tone: DotTone }) {
  return <span className={`dot dot--${tone}`} aria-hidden="true" />
}
