import { formatDuration, type SessionItem, type ToolItem } from '@chirality/core'
import { toolArgument, toolDiff, toolInput, toolTold } from '../src/history/tool-facts.ts'
import { element } from './dom.ts'

/** The element for an item. `live` is what is still being written of it. */
export function itemElement(item: SessionItem, live: string): HTMLElement {
  switch (item.kind) {
    case 'user':
      return element('div', 'user', ...richText(item.text), attachments(item.attachments))
    case 'text':
      return element('div', 'text', ...richText(item.text || live), item.aborted && note('cut short'))
    case 'thinking':
      return element('div', 'thinking', ...richText(item.text || live))
    case 'tool':
      return toolElement(item)
    case 'notice':
      return element('div', `notice ${item.level}`, item.message)
    case 'budget':
      return element('div', 'notice warn', item.message)
    case 'error':
      return element('div', 'error', item.message)
    case 'gap':
      return element('div', 'notice warn', `${item.missing} events are missing here: ${item.reason}`)
  }
}

/** What the filter looks at. */
export function itemText(item: SessionItem, live: string): string {
  switch (item.kind) {
    case 'user':
    case 'text':
    case 'thinking':
      return item.text || live
    case 'tool':
      return `${item.name} ${JSON.stringify([item.input, item.asked?.input])} ${item.content ?? ''}`
    case 'notice':
    case 'budget':
    case 'error':
      return item.message
    case 'gap':
      return item.reason
  }
}

function toolElement(item: ToolItem): HTMLElement {
  const { verb, notes, isUndone } = toolTold(item)
  const summary = element(
    'summary',
    '',
    element('span', 'name', verb),
    element('span', 'argument', toolArgument(item)),
    element('span', `outcome ${item.status}`, outcome(item, notes)),
  )
  const tool = element('details', `tool ${item.status}`, summary)
  const diff = toolDiff(item)
  tool.open = (diff !== undefined && diff.length <= MAX_OPEN_LINES) || item.status === 'failed'
  const fill = () => {
    if (tool.childElementCount > 1) return
    const input = toolInput(item)
    if (diff && isUndone)
      tool.append(note('Asked for, did not happen'), element('pre', 'code', diff.join('\n')))
    else if (diff) tool.append(diffElement(diff))
    else if (input !== '') tool.append(element('pre', 'code', input))
    if (item.asked) {
      const asked = JSON.stringify(item.asked.input, null, 2)
      tool.append(note('Asked for'), element('pre', 'code', asked))
    }
    if (item.content && (diff === undefined || item.status === 'failed'))
      tool.append(element('pre', 'code result', item.content))
  }
  // A session can hold megabytes of output that nobody opens.
  if (tool.open) fill()
  else tool.addEventListener('toggle', fill, { once: true })
  return tool
}

const MAX_OPEN_LINES = 80

function outcome({ durationMs }: ToolItem, notes: string[]): string {
  const time = durationMs === null ? '' : formatDuration(durationMs)
  return [...notes, time].filter(Boolean).join(' · ')
}

function diffElement(lines: string[]): HTMLElement {
  const spans = lines.map(line => element('span', LINE_KINDS[line.charAt(0)] ?? '', line))
  return element('pre', 'code diff', ...spans)
}

const LINE_KINDS: Record<string, string> = { '+': 'added', '-': 'removed', '@': 'place' }

function attachments(count: number): HTMLElement | undefined {
  return count === 0 ? undefined : note(count === 1 ? '1 attachment' : `${count} attachments`)
}

function note(text: string): HTMLElement {
  return element('div', 'note', text)
}

/** Paragraphs, with code in a typewriter face. Everything else of Markdown reads well enough as it is. */
function richText(text: string): Node[] {
  // At even places what stands between fences, at odd ones what is in them.
  return text
    .split(/^ {0,3}```[^\n`]*\n([\s\S]*?)(?:^ {0,3}```[ \t]*$|(?![\s\S]))/m)
    .flatMap((part, i): HTMLElement[] => {
      if (i % 2 === 1) return [element('pre', 'code', part.replace(/\n$/, ''))]
      const trimmed = part.replace(/^\n+|\s+$/g, '')
      return trimmed === '' ? [] : [element('p', '', ...inline(trimmed))]
    })
}

function inline(text: string): (Node | string)[] {
  return text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 === 1 ? element('code', '', part) : part))
}
