import type { ComponentProps } from 'react'
import './button.css'

export interface ButtonProps extends ComponentProps<'button'> {
  /** `primary` for the one thing that acts, `quiet` for what may be overlooked. */
  look?: 'plain' | 'primary' | 'quiet' | 'danger'
  size?: 'normal' | 'small'
}

export function Button({ look = 'plain', size = 'normal', className, type, ...rest }: ButtonProps) {
  const classes = ['button', `button--${look}`, size === 'small' && 'button--small', className]
  return <button type={type ?? 'button'} className={classes.filter(Boolean).join(' ')} {...rest} />
}
