import type { ReactNode } from 'react'
import { Field } from './Field.tsx'
import { Picker, type PickerProps } from './Picker.tsx'

export interface SelectFieldProps<T extends string>
  extends Pick<PickerProps<T>, 'label' | 'value' | 'options' | 'onChange' | 'onOpen' | 'first'> {
  hint?: ReactNode
}

/** A picker under its label, among other fields. */
export function SelectField<T extends string>({ hint, ...picker }: SelectFieldProps<T>) {
  return (
    <Field label={picker.label} hint={hint}>
      {id => <Picker {...picker} id={id} look="boxed" />}
    </Field>
  )
}
