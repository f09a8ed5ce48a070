import { DropdownMenu } from 'radix-ui'
import { type ReactNode, useState } from 'react'
import './menu.css'

export interface MenuItem {
  label: string
  onSelect(): void
  danger?: boolean
  disabled?: boolean
}

/** `modal` is off: a modal menu locks scrolling with an injected style tag, which the page's CSP refuses. */
export function Menu({ trigger, items }: { trigger: ReactNode; items: readonly MenuItem[] }) {
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
          {items.map(item => (
            <DropdownMenu.Item
              key={item.label}
              className={item.danger ? 'menu__item menu__item--danger' : 'menu__item'}
              disabled={item.disabled ?? false}
              onSelect={item.onSelect}
            >
              {item.label}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
