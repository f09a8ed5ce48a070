import type { ComponentProps } from 'react'
import { Icon, type IconName } from '../marks/Icon.tsx'
import './button.css'

export interface IconButtonProps extends Omit<ComponentProps<'button'>, 'aria-label' | 'children'> {
  icon: IconName
  /** Read aloud and shown as a hint: an icon alone says nothing to half of the people. */
  label: string
}

export function IconButton({ icon, label, className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      className={className ? `icon-button ${className}` : 'icon-button'}
      aria-label={label}
      title={label}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  )
}
