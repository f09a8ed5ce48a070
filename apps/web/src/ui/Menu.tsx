import { DropdownMenu } from 'radix-ui'
import type { ReactNode } from 'react'
import './menu.css'

export interface MenuItem {
  label: string
  onSelect(): void
  danger?: boolean
  disabled?: boolean
}

/** `modal` is off: a modal menu locks scrolling with an injected style tag, which the page's CSP refuses. */
export function Menu({ trigger, items }: { trigger: ReactNode; items: readonly MenuItem[] }) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
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
