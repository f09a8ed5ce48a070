import type { ReactNode } from 'react'
import { Field } from './Field.tsx'

export interface SelectOption<T extends string> {
  value: T
  label: string
  disabled?: boolean
}

export interface SelectFieldProps<T extends string> {
  label: string
  value: T
  options: readonly SelectOption<T>[]
  onChange(value: T): void
  hint?: ReactNode
  /** Where the focus goes when its dialog opens. */
  first?: boolean
}

/** A native list to choose from. What it gives back is one of its options, or nothing at all. */
export function SelectField<T extends string>(props: SelectFieldProps<T>) {
  const { label, value, options, onChange, hint, first } = props
  return (
    <Field label={label} hint={hint}>
      {id => (
        <select
          id={id}
          value={value}
          data-first={first}
          onChange={event => {
            const chosen = options.find(option => option.value === event.target.value)
            if (chosen) onChange(chosen.value)
          }}
        >
          {options.map(option => (
            <option key={option.value} value={option.value} disabled={option.disabled}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
