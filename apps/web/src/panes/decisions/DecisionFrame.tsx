import { type ReactNode, useId } from 'react'

/** The only warm colour on the page. */
export function DecisionFrame(props: { title: string; reason?: string | undefined; children: ReactNode }) {
  const id = useId()
  return (
    <section className="decision" aria-labelledby={id}>
      <h3 id={id} className="decision__title">
        {props.title}
      </h3>
      {props.reason ? <p className="decision__reason">{props.reason}</p> : null}
      {props.children}
    </section>
  )
}
