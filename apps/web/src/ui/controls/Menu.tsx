import { DropdownMenu } from 'radix-ui'
import { type ReactNode, useId, useState } from 'react'
import { Icon } from '../marks/Icon.tsx'
import './menu.css'

export interface MenuItem {
  label: string
  onSelect(): void
  danger?: boolean
  disabled?: boolean
  /** One line that says what follows from it. */
  detail?: string
  /** Of a menu that chooses: whether this is what holds now. */
  checked?: boolean
}

/** `modal` is off: a modal menu locks scrolling with an injected style tag, which the page's CSP refuses. */
export function Menu(props: { trigger: ReactNode; items: readonly MenuItem[]; title?: string }) {
  const { trigger, items, title } = props
  // Out of an open dialog it would lie under it, where nothing can be reached.
  const [place, setPlace] = useState<HTMLElement | null>(null)
  const onOpenChange = (open: boolean) => {
    if (open) setPlace([...document.querySelectorAll<HTMLElement>('dialog[open]')].at(-1) ?? null)
  }
  return (
    <DropdownMenu.Root modal={false} onOpenChange={onOpenChange}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal container={place}>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4} collisionPadding={8}>
          {title ? <DropdownMenu.Label className="menu__title">{title}</DropdownMenu.Label> : null}
          {items.map(item => (
            <Item key={item.label} item={item} />
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

function Item({ item }: { item: MenuItem }) {
  const { label, detail, checked, danger, disabled = false, onSelect } = item
  const id = useId()
  const look = {
    className: danger ? 'menu__item menu__item--danger' : 'menu__item',
    disabled,
    onSelect,
    textValue: label,
    'aria-labelledby': id,
    ...(detail ? { 'aria-describedby': `${id}-detail` } : {}),
  }
  const words = (
    <>
      <span id={id}>{label}</span>
      {checked ? <Icon name="check" size={14} /> : null}
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
