import type { ReactNode } from 'react'
import './empty.css'

/** What is missing, and what to do about it. `page`: nothing else is on the page, so this is its heading. */
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
