import { type ReactNode, type Ref, useId } from 'react'

export interface DecisionFrameProps {
  title: string
  reason?: string | undefined
  children: ReactNode
  ref?: Ref<HTMLElement>
}

/** The only warm colour on the page. */
export function DecisionFrame(props: DecisionFrameProps) {
  const id = useId()
  return (
    <section ref={props.ref} className="decision" aria-labelledby={id}>
      <h3 id={id} className="decision__title">
        {props.title}
      </h3>
      {props.reason ? <p className="decision__reason">{props.reason}</p> : null}
      {props.children}
    </section>
  )
}
