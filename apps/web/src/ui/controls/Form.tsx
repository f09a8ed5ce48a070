import type { ReactNode } from 'react'
import { Field } from './Field.tsx'
import './form.css'

export interface FormProps {
  /** Name for screen readers; a dialog has its title. */
  label?: string
  className: string
  /** Why the last try was refused. */
  failure: string | null
  /** Its buttons, the one that sends it last. */
  foot: ReactNode
  onSend(): void
  children: ReactNode
}

/** Sent by its button, by Enter in a field of one line, and by Ctrl Enter everywhere in it. */
export function Form({ label, className, failure, foot, onSend, children }: FormProps) {
  return (
    <form
      className={`form ${className}`}
      aria-label={label}
      onSubmit={event => {
        event.preventDefault()
        onSend()
      }}
      onKeyDown={event => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        onSend()
      }}
    >
      {children}
      {failure === null ? null : (
        <p className="form__bad" role="alert">
          {failure}
        </p>
      )}
      <div className="form__foot">{foot}</div>
    </form>
  )
}

export interface TextFieldProps {
  label: string
  hint?: ReactNode
  value: string
  onChange(value: string): void
  /** More than one: a field of several lines. */
  rows?: number
  /** In the font of code, and not looked up in a dictionary. */
  isCode?: boolean
  /** A phone shows digits. */
  isNumber?: boolean
  maxLength?: number
  /** A dialog begins here. */
  isFirst?: boolean
}

/** A text under its label. */
export function TextField(props: TextFieldProps) {
  const {
    label,
    hint,
    value,
    onChange,
    rows = 1,
    isCode = false,
    isNumber = false,
    maxLength,
    isFirst,
  } = props
  const shared = {
    value,
    maxLength,
    className: isCode ? 'input input--code' : 'input',
    ...(isCode ? { spellCheck: false, autoComplete: 'off' } : {}),
    ...(isNumber ? { inputMode: 'decimal' as const } : {}),
    'data-first': isFirst || undefined,
  }
  return (
    <Field label={label} hint={hint}>
      {id =>
        rows > 1 ? (
          <textarea {...shared} id={id} rows={rows} onChange={event => onChange(event.target.value)} />
        ) : (
          <input {...shared} id={id} onChange={event => onChange(event.target.value)} />
        )
      }
    </Field>
  )
}

/** A choice that is off until it is made. */
export function CheckField({
  label,
  isOn,
  onChange,
}: {
  label: string
  isOn: boolean
  onChange(isOn: boolean): void
}) {
  return (
    <label className="form__check">
      <input type="checkbox" checked={isOn} onChange={event => onChange(event.target.checked)} />
      <span>{label}</span>
    </label>
  )
}
