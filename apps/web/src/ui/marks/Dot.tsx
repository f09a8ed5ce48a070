import './marks.css'

/** `work`: the agent's half is filled. `need`: yours. `ok`: both. `seen`: both, and quiet. `quiet`: none. `bad`: slipped apart. */
export type DotTone = 'quiet' | 'work' | 'need' | 'ok' | 'seen' | 'bad'

/** Whose turn it is. A word always stands beside it. */
export function Dot({ tone }: { tone: DotTone }) {
  return (
    <svg className={`dot dot--${tone}`} viewBox="0 0 14 14" aria-hidden="true">
      <path className="dot__agents" d="M6.2 1.2a5.85 5.85 0 0 0 0 11.6z" />
      <path className="dot__yours" d="M7.8 1.2a5.85 5.85 0 0 1 0 11.6z" />
    </svg>
  )
}

/** The mark of the program. It lights up like a dot, for all sessions together. */
export function Brand({ working, needsYou }: { working: boolean; needsYou: boolean }) {
  const classes = ['brand', working && 'brand--work', needsYou && 'brand--need'].filter(Boolean).join(' ')
  return (
    <svg className={classes} viewBox="0 0 24 24" aria-hidden="true">
      <path className="dot__agents" d="M11 2.05a10 10 0 0 0 0 19.9v-6.6a4.9 4.9 0 0 1 0-9.7z" />
      <path className="dot__yours" d="M13 2.05a10 10 0 0 1 0 19.9v-6.6a4.9 4.9 0 0 0 0-9.7z" />
    </svg>
  )
}
