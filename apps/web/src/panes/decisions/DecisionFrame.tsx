import { type MouseEvent, type ReactNode, type Ref, useId } from 'react'

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
    <section ref={props.ref} className="decision" aria-labelledby={id} onClickCapture={dropSecondClick}>
      <h3 id={id} className="decision__title">
        {props.title}
      </h3>
      {props.reason ? <p className="decision__reason">{props.reason}</p> : null}
      {props.children}
    </section>
  )
}

/** Of a double click the second half would hit what came into the place of the button: another card, another button. */
function dropSecondClick(event: MouseEvent): void {
  if (event.detail < 2 || !(event.target instanceof Element) || !event.target.closest('button')) return
  event.preventDefault()
  event.stopPropagation()
}
