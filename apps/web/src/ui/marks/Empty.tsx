import type { ReactNode } from 'react'
import './marks.css'

/** Notice of something missing and what to do about it. `page`: nothing else is on the page, so this is its heading. */
export function Empty(props: { title: string; page?: boolean; children?: ReactNode }) {
  const { title, page = false, children } = props
  const Title = page ? 'h1' : 'p'
  return (
    <div className="empty">
      <Title className="empty__title">{title}</Title>
      {children ? <div className="empty__text">{children}</div> : null}
    </div>
  )
}

/** A sentence in which what stands between backticks is to be typed. */
export function Words({ text }: { text: string }) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))
}

/** The shape of what comes, for whoever waits longer than a moment. */
export function Skeleton({ lines, label }: { lines: number; label: string }) {
  return (
    <div className="skeleton" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} className="skeleton__line" />
      ))}
    </div>
  )
}
