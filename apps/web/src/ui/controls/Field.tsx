import { type ReactNode, useId } from 'react'
import './field.css'

/** A label over its control. `children` gets the id that ties them together. */
export function Field(props: { label: string; hint?: ReactNode; children: (id: string) => ReactNode }) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      {props.children(id)}
      {props.hint ? <p className="field__hint">{props.hint}</p> : null}
    </div>
  )
}
