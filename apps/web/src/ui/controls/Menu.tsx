import { DropdownMenu } from 'radix-ui'
import { type ReactNode, useId, useState } from 'react'
import { Icon, type IconName } from '../marks/Icon.tsx'
import './menu.css'

export interface MenuItem {
  label: string
  onSelect(): void
  icon?: IconName
  danger?: boolean
  disabled?: boolean
  /** One line that says what follows from it. */
  detail?: string
  /** Whether this entry of a choice is the current one. */
  checked?: boolean
}

export interface MenuProps {
  trigger: ReactNode
  items: readonly MenuItem[]
  title?: string
  align?: 'start' | 'end'
  onOpen?(): void
}

/** `modal` is off: a modal menu locks scrolling with an injected style tag, which the page's CSP refuses. */
export function Menu({ trigger, items, title, align = 'end', onOpen }: MenuProps) {
  // Out of an open dialog it would lie under it, where nothing can be reached.
  const [place, setPlace] = useState<HTMLElement | null>(null)
  const onOpenChange = (open: boolean) => {
    if (!open) return
    onOpen?.()
    setPlace([...document.querySelectorAll<HTMLElement>('dialog[open]')].at(-1) ?? null)
  }
  return (
    <DropdownMenu.Root modal={false} onOpenChange={onOpenChange}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal container={place}>
        <DropdownMenu.Content
          className="menu"
          align={align}
          sideOffset={4}
          collisionPadding={8}
          onCloseAutoFocus={event => {
            // What an entry opened has the focus already.
            if (document.activeElement?.matches('input, textarea')) event.preventDefault()
          }}
        >
          {title ? <DropdownMenu.Label className="menu__title">{title}</DropdownMenu.Label> : null}
          {items.map((item, index) => (
            <Item key={`${index} ${item.label}`} item={item} />
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

function Item({ item }: { item: MenuItem }) {
  const { label, icon, detail, checked, danger, disabled = false, onSelect } = item
  const id = useId()
  const classes = ['menu__item', icon && 'menu__item--icon', danger && 'menu__item--danger']
  const look = {
    className: classes.filter(Boolean).join(' '),
    disabled,
    onSelect,
    textValue: label,
    'aria-labelledby': id,
    ...(detail ? { 'aria-describedby': `${id}-detail` } : {}),
  }
  const words = (
    <>
      {icon ? <Icon name={icon} /> : null}
      <span id={id} className="menu__label truncate">
        {label}
      </span>
      {checked ? <Icon name="check" size={14} /> : <span />}
      {detail ? (
        <span id={`${id}-detail`} className="menu__detail">
          {detail}
        </span>
      ) : null}
    </>
  )
  if (checked === undefined) return <DropdownMenu.Item {...look}>{words}</DropdownMenu.Item>
  return (
    <DropdownMenu.CheckboxItem {...look} checked={checked}>
      {words}
    </DropdownMenu.CheckboxItem>
  )
}
