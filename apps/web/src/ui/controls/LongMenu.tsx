import { Popover } from 'radix-ui'
import { type KeyboardEvent, useId, useState } from 'react'
import { Icon } from '../marks/Icon.tsx'
import { rank } from '../text/rank.ts'
import type { MenuItem, MenuProps } from './Menu.tsx'
import './menu.css'

/** A menu that is too long to be read: what is typed leaves the entries that fit, the best one chosen. */
export function LongMenu({ trigger, items, title = 'Choose', align = 'end', onOpen }: MenuProps) {
  const [open, setOpen] = useState(false)
  // Out of an open dialog it would lie under it, where nothing can be reached.
  const [place, setPlace] = useState<HTMLElement | null>(null)
  const onOpenChange = (next: boolean) => {
    if (next) onOpen?.()
    if (next) setPlace([...document.querySelectorAll<HTMLElement>('dialog[open]')].at(-1) ?? null)
    setOpen(next)
  }
  return (
    <Popover.Root open={open} onOpenChange={onOpenChange}>
      <Popover.Trigger asChild>{trigger}</Popover.Trigger>
      <Popover.Portal container={place}>
        <Popover.Content
          className="menu menu--long"
          aria-label={title}
          align={align}
          sideOffset={4}
          collisionPadding={8}
        >
          <Entries items={items} title={title} onDone={() => setOpen(false)} />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
}

interface EntriesProps {
  items: readonly MenuItem[]
  title: string
  onDone(): void
}

function Entries({ items, title, onDone }: EntriesProps) {
  const id = useId()
  const [text, setText] = useState('')
  const [at, setAt] = useState(() =>
    Math.max(
      0,
      items.findIndex(({ checked }) => checked),
    ),
  )
  const found = rank(
    items.map(item => ({ ...item, words: item.detail ?? '' })),
    text,
  )
  const choose = (item: MenuItem | undefined) => {
    if (!item || item.disabled) return
    onDone()
    item.onSelect()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    if (event.key === 'Enter') choose(found[at])
    else if (event.key === 'ArrowDown') setAt(Math.min(at + 1, found.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
    else return
    event.preventDefault()
  }
  return (
    <>
      <input
        className="input menu__search"
        role="combobox"
        aria-label={`Find: ${title}`}
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
        placeholder="Find"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={event => {
          setText(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id={`${id}-list`} className="menu__entries" role="listbox" aria-label={title}>
        {found.map((item, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the chosen entry
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          <div
            key={`${index} ${item.label}`}
            id={`${id}-${index}`}
            ref={element => {
              if (index === at) element?.scrollIntoView({ block: 'nearest' })
            }}
            className={item.icon ? 'menu__item menu__item--icon' : 'menu__item'}
            role="option"
            aria-selected={index === at}
            aria-disabled={item.disabled}
            data-highlighted={index === at ? '' : undefined}
            data-disabled={item.disabled ? '' : undefined}
            onClick={() => choose(item)}
          >
            {item.icon ? <Icon name={item.icon} /> : null}
            <span className="menu__label truncate">{item.label}</span>
            {item.checked ? <Icon name="check" size={14} /> : <span />}
            {item.detail ? <span className="menu__detail truncate">{item.detail}</span> : null}
          </div>
        ))}
      </div>
      {found.length === 0 ? <p className="menu__none">Nothing fits.</p> : null}
    </>
  )
}
