import { type ComponentType, useEffect, useState } from 'react'
import { Icon, type IconName } from '../marks/Icon.tsx'
import { Menu, type MenuItem, type MenuProps } from './Menu.tsx'
import './button.css'

export interface SelectOption<T extends string> {
  value: T
  label: string
  icon?: IconName
  /** One line that says what follows from it. */
  detail?: string
  disabled?: boolean
}

export interface PickerProps<T extends string> {
  /** Subject of the choice: read aloud, and the title of the menu. */
  label: string
  value: T
  options: readonly SelectOption<T>[]
  onChange(value: T): void
  onOpen?: (() => void) | undefined
  /** Below the options: what leads elsewhere. */
  actions?: readonly MenuItem[]
  icon?: IconName
  look?: 'plain' | 'strong' | 'boxed'
  /** Ties a boxed one to the label that is seen. */
  id?: string
  /** Where the focus goes when its dialog opens. */
  first?: boolean
  disabled?: boolean
  /** Title of the menu, where it says more than the label. */
  title?: string
  /** For the button, where the option's own label is too long. */
  short?: string
}

/** A choice: the button says what holds, the menu what follows from each. A long one has a field to search in. */
export function Picker<T extends string>(props: PickerProps<T>) {
  const {
    label,
    value,
    options,
    onChange,
    actions = [],
    icon,
    look = 'plain',
    id,
    first,
    short,
    title = label,
  } = props
  const shown = short ?? options.find(option => option.value === value)?.label ?? value
  const items = options.map(
    (option): MenuItem => ({
      label: option.label,
      ...(option.icon ? { icon: option.icon } : {}),
      ...(option.detail ? { detail: option.detail } : {}),
      ...(option.disabled ? { disabled: true } : {}),
      checked: option.value === value,
      onSelect: () => onChange(option.value),
    }),
  )
  const List = useList(items.length + actions.length)
  return (
    <List
      title={title}
      align="start"
      {...(props.onOpen ? { onOpen: props.onOpen } : {})}
      items={[...items, ...actions]}
      trigger={
        <button
          type="button"
          id={id}
          className={look === 'plain' ? 'picker' : `picker picker--${look}`}
          aria-label={`${label}: ${shown}`}
          title={`${label}: ${shown}`}
          data-first={first}
          disabled={props.disabled}
        >
          {icon ? <Icon name={icon} /> : null}
          <span className="truncate">{shown}</span>
          <span className="picker__arrow">
            <Icon name="down" size={13} />
          </span>
        </button>
      }
    />
  )
}

/** From so many entries on there is a field to find one by typing. */
const LONG_MENU = 9

type List = ComponentType<MenuProps>
let longMenu: List | undefined

/** The plain menu, until the code of the long one is there: only few people have so many entries. */
function useList(count: number): List {
  const [long, setLong] = useState<List | undefined>(() => longMenu)
  const isWanted = count >= LONG_MENU && long === undefined
  useEffect(() => {
    if (!isWanted) return
    import('./LongMenu.tsx').then(
      ({ LongMenu }) => {
        longMenu = LongMenu
        setLong(() => LongMenu)
      },
      () => undefined,
    )
  }, [isWanted])
  return (count >= LONG_MENU && long) || Menu
}
