import { answersOf, editsOf, factsOf, type SessionItem, type ToolItem, todosOf } from '@chirality/core'
import Anser from 'anser'
import type { Token, Tokens } from 'marked'
import { parseBlocks } from '../../markdown/blocks.logic.ts'
import { own } from '../../ui/own.ts'
import { argumentOf, askedText, inputText, isSaidByHead, planOf } from '../../words/tool-summary.logic.ts'
import type { ChatRow, ItemNode } from '../chat/rows.logic.ts'
import type { Found } from './found.tsx'

/** Where a text occurs: in one item, so many times. */
export interface FoundIn {
  readonly row: number
  readonly seq: number
  readonly count: number
  /** How many of them are in the line of a folded item; the rest is seen when it is open. */
  readonly inHead: number
}

/** Text and output still being written, which is not in the items yet. */
export interface Running {
  readonly live: Readonly<Record<string, string>>
  readonly output: Readonly<Record<string, string>>
}

/** Finds one text in rows, again and again as they grow: what did not change is not looked through twice. */
export class Search {
  readonly #pattern: RegExp
  readonly #cwd: string
  readonly #counts = new WeakMap<SessionItem, Counts>()

  constructor(text: string, cwd: string) {
    this.#pattern = patternOf(text)
    this.#cwd = cwd
  }

  in(rows: readonly ChatRow[], running: Running): FoundIn[] {
    return rows.flatMap((chatRow, row) =>
      itemsOf(chatRow).flatMap(item => {
        const { head, body } = this.#count(item, running)
        return head + body === 0 ? [] : [{ row, seq: item.seq, count: head + body, inHead: head }]
      }),
    )
  }

  #count(item: SessionItem, running: Running): Counts {
    const known = this.#counts.get(item)
    if (known) return known
    const { head = '', body = '' } = textOf(item, running, this.#cwd)
    const counts = { head: occurrences(head, this.#pattern), body: occurrences(body, this.#pattern) }
    if (!isGrowing(item)) this.#counts.set(item, counts)
    return counts
  }
}

interface Counts {
  head: number
  body: number
}

/** Letters of either case; every other character as it stands. */
export function patternOf(text: string): RegExp {
  return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replace(/\s+/g, '\\s+'), 'gi')
}

export function total(found: readonly FoundIn[]): number {
  return found.reduce((sum, { count }) => sum + count, 0)
}

/** The occurrence with this number, from 0; counted round at both ends. */
export function occurrenceAt(found: readonly FoundIn[], index: number): Found | null {
  const count = total(found)
  if (count === 0) return null
  let left = ((index % count) + count) % count
  for (const { row, seq, count: here, inHead } of found) {
    if (left < here) return { row, seq, nth: left, isInBody: left >= inHead }
    left -= here
  }
  return null
}

/** The number of an occurrence, from 0. One that is gone has that of the next one after it. */
export function indexOfFound(found: readonly FoundIn[], { seq, nth }: Found): number {
  let before = 0
  for (const place of found) {
    if (place.seq === seq) return before + Math.min(nth, place.count - 1)
    if (place.seq > seq) break
    before += place.count
  }
  return Math.max(0, Math.min(before, total(found) - 1))
}

/** Where to begin: at the first occurrence from this row on, or at the last one of all. */
export function firstFrom(found: readonly FoundIn[], row: number): number {
  let before = 0
  for (const place of found) {
    if (place.row >= row) return before
    before += place.count
  }
  return Math.max(0, before - 1)
}

function itemsOf(row: ChatRow): readonly SessionItem[] {
  if (row.kind === 'group') return row.group.tools
  return row.kind === 'item' ? flat(row.node) : []
}

function flat({ item, children }: ItemNode): SessionItem[] {
  return [item, ...children.flatMap(flat)]
}

function isGrowing(item: SessionItem): boolean {
  if (item.kind === 'text' || item.kind === 'thinking') return item.streaming
  return item.kind === 'tool' && item.status === 'running'
}

/** Text of an item: in its line, and when it is open. */
function textOf(item: SessionItem, running: Running, cwd: string): { head?: string; body?: string } {
  switch (item.kind) {
    case 'user':
      return { head: item.text }
    case 'text':
      return { head: plainMarkdown(item.streaming ? (own(running.live, item.id) ?? '') : item.text) }
    case 'thinking':
      return { body: item.streaming ? (own(running.live, item.id) ?? '') : item.text }
    case 'tool':
      return toolText(item, running, cwd)
    case 'notice':
      return item.status === 'interrupted' ? {} : { head: noticeText(item) }
    case 'error':
      return item.code === 'interrupted' ? {} : { head: item.message }
    case 'budget':
      return { head: item.message }
    case 'gap':
      return {}
  }
}

function noticeText(item: SessionItem & { kind: 'notice' }): string {
  const todos = todosOf(item)
  return todos.length > 0 ? todos.map(({ text }) => text).join('\n') : item.message
}

function toolText(item: ToolItem, { output }: Running, cwd: string): { head: string; body: string } {
  const facts = factsOf(item)
  if (facts.todos) return { head: facts.todos.map(({ text }) => text).join('\n'), body: '' }
  const head = argumentOf(facts, cwd)
  const asked = askedText(item)
  const edits = editsOf(item)
  if (edits.length > 0) {
    const failed = item.status === 'failed' ? (item.content ?? '') : ''
    return { head, body: [...edits.flatMap(editTexts), asked, failed].join('\n') }
  }
  if (facts.questions && item.status === 'done') {
    const asked = facts.questions.map(({ name }) => name)
    return { head, body: [...asked, ...answersOf(item)].join('\n') }
  }
  const plan = planOf(item)
  if (plan !== undefined) return { head, body: plainMarkdown(plan) }
  const result = item.content ?? own(output, item.id) ?? ''
  const input = inputText(item)
  const shown = facts.kind === 'task' ? plainMarkdown(result) : withoutColours(result)
  return { head, body: [asked, isSaidByHead(input, head) ? '' : input, shown].join('\n') }
}

function editTexts({ hunks, text, swaps }: ReturnType<typeof editsOf>[number]): string[] {
  if (hunks) return hunks.flatMap(({ lines }) => lines.map(line => line.slice(1)))
  if (text !== undefined) return [text]
  return (swaps ?? []).flatMap(({ before, after }) => [before, after])
}

function withoutColours(text: string): string {
  return text.includes('\u001b') ? Anser.ansiToText(text) : text
}

function occurrences(text: string, pattern: RegExp): number {
  if (text === '') return 0
  let count = 0
  for (const _ of text.matchAll(pattern)) count += 1
  return count
}

/** Markdown as it is read, without its marks. */
function plainMarkdown(text: string): string {
  const { groups, tail } = parseBlocks(text)
  return [...groups.flat(), ...tail].map(({ token }) => blockText(token)).join('\n')
}

function blockText(token: Token): string {
  switch (token.type) {
    case 'list':
      return (token as Tokens.List).items.map(({ tokens }) => tokens.map(blockText).join('\n')).join('\n')
    case 'table': {
      const { header, rows } = token as Tokens.Table
      return [...header, ...rows.flat()].map(({ tokens }) => inlineText(tokens)).join('\n')
    }
    case 'blockquote':
      return (token.tokens ?? []).map(blockText).join('\n')
    case 'code':
      return (token as Tokens.Code).text
    case 'space':
    case 'def':
    case 'hr':
    case 'checkbox':
      return ''
    default:
      return inlineText([token])
  }
}

function inlineText(tokens: readonly Token[]): string {
  return tokens
    .map(token => {
      if (token.type === 'br') return '\n'
      if (token.type === 'checkbox') return ''
      if ('tokens' in token && token.tokens) return inlineText(token.tokens)
      return 'text' in token && typeof token.text === 'string' ? token.text : token.raw
    })
    .join('')
}
