import type { PermissionRequestEvent, SessionItem, SessionState } from '@chirality/core'
import { toolArgument } from '../src/history/tool-facts.ts'
import { element } from './dom.ts'
import { itemElement, itemText } from './item-view.ts'

export interface Filter {
  text: string
  hiddenKinds: ReadonlySet<SessionItem['kind']>
}

interface Shown {
  item: SessionItem
  live: string
  element: HTMLElement
}

/** The conversation at one moment. Only what changed since the last is made anew. */
export class Transcript {
  readonly root = element('main', '')
  readonly #items = element('div', 'items')
  readonly #pending = element('div', 'pending')
  readonly #empty = element('p', 'note', 'Nothing here yet.')
  #shown: Shown[] = []
  #filter: Filter = { text: '', hiddenKinds: new Set() }

  constructor() {
    this.root.append(this.#empty, this.#items, this.#pending)
  }

  show({ items, live, pending }: SessionState): void {
    for (const [i, item] of items.entries()) {
      const text = live[item.id] ?? ''
      const before = this.#shown[i]
      if (before?.item === item && before.live === text) continue
      const made = itemElement(item, text)
      if (item.parentToolUseId !== undefined) made.classList.add('nested')
      if (before === undefined) this.#items.append(made)
      else {
        keepOpen(before, made, item)
        before.element.replaceWith(made)
      }
      this.#shown[i] = { item, live: text, element: made }
      this.#hideOrShow(this.#shown[i])
    }
    for (const { element: extra } of this.#shown.splice(items.length)) extra.remove()
    this.#pending.replaceChildren(...pending.map(asked))
    this.#empty.hidden = items.length > 0
  }

  filter(filter: Filter): void {
    this.#filter = { ...filter, text: filter.text.toLowerCase() }
    for (const shown of this.#shown) this.#hideOrShow(shown)
  }

  #hideOrShow({ item, live, element: shown }: Shown): void {
    const { text, hiddenKinds } = this.#filter
    const matches = text === '' || itemText(item, live).toLowerCase().includes(text)
    shown.hidden = hiddenKinds.has(item.kind) || !matches
  }
}

/** What the reader opened stays open when its result comes. */
function keepOpen(before: Shown, made: HTMLElement, item: SessionItem): void {
  const isSame = before.item.id === item.id && before.element instanceof HTMLDetailsElement
  if (isSame && made instanceof HTMLDetailsElement && (before.element as HTMLDetailsElement).open)
    made.open = true
}

function asked(request: PermissionRequestEvent): HTMLElement {
  const argument = toolArgument(request)
  return element(
    'div',
    'ask',
    `Waits for a decision: ${request.toolName}`,
    argument !== '' && element('code', '', argument),
  )
}
