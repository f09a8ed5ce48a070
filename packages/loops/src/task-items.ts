import { didYouMean } from '@chirality/core'
import { badList } from './loop-error.ts'

/** A box of the list, or a heading with boxes as acceptance criteria. */
export interface Item {
  at: number
  indent: number
  title: string
  ticked: boolean
  parents: Item[]
  isGroup: boolean
  keys: Map<Key, { values: string[]; at: number }>
  notes: string[]
  /** Lines of the boxes that are ticked with it: its acceptance criteria. */
  criteria: number[]
  /** Level of the heading. Its boxes are only criteria. */
  heading?: number
  /** True after text that is no key. */
  hasText: boolean
  /** True if the boxes below it are its criteria instead of tasks. */
  isJudged: boolean
}

const KEYS = [
  ...['id', 'checks', 'expect', 'persona', 'harness', 'next_harnesses', 'model', 'budget_usd'],
  ...['budget_tokens', 'depends_on', 'where', 'tests'],
] as const
export type Key = (typeof KEYS)[number]

export interface ReadItems {
  items: Item[]
  /** Notices about text that may be meant differently. */
  notices: string[]
}

/** The tasks and groups in the lines after `from`. Throws `bad-list` with the line. */
export function readItems(lines: readonly string[], from: number, name: string): ReadItems {
  return new ItemReader(lines, from, name).read()
}

/** True if the text has a box to tick. */
export function hasBox(text: string): boolean {
  return new RegExp(BOX.source, 'm').test(text)
}

class ItemReader {
  readonly #lines: readonly string[]
  readonly #from: number
  readonly #name: string
  readonly #items: Item[] = []
  readonly #told = new Told()
  #open: Item[] = []
  /** A key whose values follow on the next lines. */
  #key: { values: string[]; indent: number } | undefined
  #hasStories = false

  constructor(lines: readonly string[], from: number, name: string) {
    this.#lines = lines.map(line => line.replace(/\r$/, ''))
    this.#from = from
    this.#name = name
  }

  read(): ReadItems {
    const isFenced = fencesIn(this.#lines, this.#from)
    const headings = headingsIn(this.#lines, this.#from, isFenced)
    this.#hasStories = headings.some(heading => heading.isStory)
    const headingAt = new Map(headings.map(heading => [heading.at, heading]))
    // True below a heading such as "Definition of done" that belongs to no task.
    let isForAll = false
    for (let at = this.#from; at < this.#lines.length; at += 1) {
      const line = this.#lines[at] ?? ''
      const heading = headingAt.get(at)
      if (heading !== undefined) {
        this.#heading(heading)
        isForAll = this.#hasStories && heading.isAcceptance && this.#open.length === 0
        continue
      }
      const box = isFenced[at] ? null : BOX.exec(line)
      if (isFenced[at]) this.#note(this.#open.at(-1), line)
      else if (box !== null && isForAll) this.#told.add('for-all', at)
      else if (box !== null) this.#box(box, at)
      else this.#text(line, at)
    }
    for (const item of this.#items)
      if (item.heading !== undefined)
        item.ticked = item.criteria.every(at => !/\[ \]/.test(this.#lines[at] ?? ''))
    return { items: this.#items, notices: this.#told.notices(this.#name) }
  }

  #heading({ at, level, title, isStory, isEmpty, isAcceptance }: Heading): void {
    this.#key = undefined
    const inside = this.#open.filter(({ heading = 7 }) => (isAcceptance ? heading <= level : heading < level))
    this.#open = inside
    if (isEmpty) this.#told.add('no-box', at, title)
    if (!isStory || isAcceptance) return this.#note(inside.at(-1), this.#lines[at] ?? '')
    this.#told.add('story', at, title)
    this.#add({ at, title, indent: -1, ticked: false, heading: level, isJudged: true })
  }

  #box(found: RegExpExecArray, at: number): void {
    const [line = '', space = '', , mark = ' ', text = ''] = found
    const indent = widthOf(space)
    const title = text.trim()
    this.#key = undefined
    this.#open = this.#open.filter(item => item.indent < indent)
    const judged = this.#open.at(-1)
    if (judged?.isJudged) {
      judged.criteria.push(at)
      return this.#note(judged, line)
    }
    if (title === '')
      throw badList(this.#name, at + 1, 'The task has no words. Write what is to be done after "- [ ]".')
    this.#add({ at, title, indent, ticked: mark !== ' ', isJudged: false })
  }

  #add(item: Pick<Item, 'at' | 'title' | 'indent' | 'ticked' | 'isJudged'> & { heading?: number }): void {
    for (const parent of this.#open) parent.isGroup = true
    const added: Item = {
      ...item,
      parents: [...this.#open],
      isGroup: false,
      keys: new Map(),
      notes: [],
      criteria: [],
      hasText: false,
    }
    this.#items.push(added)
    this.#open.push(added)
  }

  #text(line: string, at: number): void {
    const current = this.#open.at(-1)
    if (line.trim() === '') {
      if (current !== undefined && current.notes.length > 0) current.notes.push('')
      return
    }
    const indent = widthOf(/^[ \t]*/.exec(line)?.[0] ?? '')
    this.#open = this.#open.filter(item => item.indent < indent)
    const item = this.#open.at(-1)
    if (item === undefined) return
    const entry = /^[ \t]*- +(.*)$/.exec(line)?.[1]
    if (this.#key !== undefined && entry !== undefined && indent >= this.#key.indent) {
      this.#key.values.push(entry.trim())
      return
    }
    this.#key = this.#readKey(item, line, at)
    if (this.#key !== undefined) return
    if (ACCEPTANCE.test(line)) item.isJudged = true
    this.#note(item, line)
  }

  /** Undefined if the line is a note. */
  #readKey(item: Item, line: string, at: number): { values: string[]; indent: number } | undefined {
    const [, space = '', dash = '', word = '', value = ''] = KEY_LINE.exec(line) ?? []
    if (word === '') {
      item.hasText = true
      return undefined
    }
    const known = KEYS.find(key => key === word)
    // A bullet is a note, and so is text after other text. Keys among them are reported, because their checks would not
    // run.
    if (dash !== '' || item.hasText) {
      if (known !== undefined) this.#told.add('late-key', at, word)
      item.hasText = true
      return undefined
    }
    if (known === undefined) {
      const near = misspelled(word, KEYS)
      if (near !== undefined)
        throw badList(
          this.#name,
          at + 1,
          `Unknown key "${word}". Did you mean "${near}"? If it is a note, begin it with a capital letter or a dash.`,
        )
      // Keys may follow: a check below "priority: high" is still a check.
      this.#told.add('unknown-key', at, word)
      return undefined
    }
    if (item.keys.has(known)) throw badList(this.#name, at + 1, `"${word}" is given twice.`)
    const values = value.trim() === '' ? [] : [value.trim()]
    item.keys.set(known, { values, at })
    // One value on the line, or a list below it.
    return values.length === 0
      ? { values, indent: widthOf(space) }
      : { values: [], indent: Number.POSITIVE_INFINITY }
  }

  #note(item: Item | undefined, line: string): void {
    item?.notes.push(line)
  }
}

interface Heading {
  at: number
  level: number
  title: string
  isAcceptance: boolean
  /** True for a task whose boxes are its acceptance criteria. */
  isStory: boolean
  /** True for a heading named like a task without any box. */
  isEmpty: boolean
}

function headingsIn(lines: readonly string[], from: number, isFenced: readonly boolean[]): Heading[] {
  const found: Heading[] = []
  for (let at = from; at < lines.length; at += 1) {
    const [, marks = '', title = ''] = isFenced[at] ? [] : (HEADING.exec(lines[at] ?? '') ?? [])
    if (marks === '') continue
    const plain = title.replace(/[\s#]+$/, '').replace(/^[*_`]+|[*_`]+$/g, '')
    const isAcceptance = ACCEPTANCE.test(plain)
    found.push({ at, level: marks.length, title: plain, isAcceptance, isStory: false, isEmpty: false })
  }
  const isNamed = ({ title }: Heading) => STORY.some(name => name.test(title))
  // Headings inside a task belong to it, whatever their text.
  let until = 0
  found.forEach((heading, n) => {
    if (heading.isAcceptance || heading.at < until) return
    const named = isNamed(heading)
    const next = nextHeading(found, n, named ? isNamed : () => true)
    const end = next?.at ?? lines.length
    const section = Array.from({ length: end - heading.at - 1 }, (_, k) => heading.at + 1 + k)
    const shown = section.filter(at => !isFenced[at]).map(at => lines[at] ?? '')
    const first = shown.findIndex(line => BOX.test(line))
    // Only unindented lines before the first box count, because a task may have criteria of its own.
    const isJudged = shown.slice(0, first).some(line => !/^\s/.test(line) && isAcceptanceLine(line))
    const boxes = shown.flatMap(line => BOX.exec(line)?.[4] ?? [])
    const areTasks = boxes.some(words => OWN_ID.test(words)) || hasKeys(shown)
    heading.isStory = boxes.length > 0 && ((named && !areTasks) || isJudged)
    heading.isEmpty = named && boxes.length === 0 && !(next !== undefined && next.level > heading.level)
    if (heading.isStory) until = end
  })
  const hasStories = found.some(({ isStory }) => isStory)
  for (const heading of found) heading.isEmpty &&= hasStories
  return found
}

/** The heading that ends a section. One about acceptance ends it only if its level is higher. */
function nextHeading(
  all: readonly Heading[],
  n: number,
  isOther: (heading: Heading) => boolean,
): Heading | undefined {
  const level = all[n]?.level ?? 0
  for (let k = n + 1; k < all.length; k += 1) {
    const next = all[k] as Heading
    if (next.isAcceptance ? next.level < level : next.level <= level || isOther(next)) return next
  }
  return undefined
}

/** True if an indented key follows a box, so that each box is a task. */
function hasKeys(lines: readonly string[]): boolean {
  return lines.some(line => {
    const [, space = '', dash = '', word = ''] = KEY_LINE.exec(line) ?? []
    return space !== '' && dash === '' && KEYS.some(key => key === word)
  })
}

function isAcceptanceLine(line: string): boolean {
  return ACCEPTANCE.test(line.replace(/^#+\s*/, ''))
}

function fencesIn(lines: readonly string[], from: number): boolean[] {
  const inside: boolean[] = []
  let fence: string | undefined
  for (let at = from; at < lines.length; at += 1) {
    const mark = /^\s*(```+|~~~+)/.exec(lines[at] ?? '')?.[1]
    inside[at] = fence !== undefined || mark !== undefined
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence)))
      fence = fence === undefined ? mark : undefined
  }
  return inside
}

/** The key that a word is probably a misspelling of. A longer word that only starts like a key is a different word. */
export function misspelled(word: string, keys: readonly string[]): string | undefined {
  const near = didYouMean(word, keys)
  return near !== undefined && word.length >= 4 && Math.abs(near.length - word.length) <= 1 ? near : undefined
}

type ToldKind = 'story' | 'no-box' | 'for-all' | 'late-key' | 'unknown-key'

/** Collects notices, with one line per kind, because there may be thousands. */
class Told {
  readonly #lines = new Map<string, { kind: ToldKind; word: string; at: number[] }>()

  add(kind: ToldKind, at: number, word = ''): void {
    const isOne = kind === 'late-key' || kind === 'unknown-key'
    const id = isOne ? `${kind} ${word}` : kind
    const known = this.#lines.get(id) ?? { kind, word, at: [] }
    known.at.push(at + 1)
    this.#lines.set(id, known)
  }

  notices(name: string): string[] {
    return [...this.#lines.values()]
      .slice(0, MAX_NOTICES)
      .map(({ kind, word, at }) => `${name}:${placesOf(at)}: ${WORDS[kind](word, at.length)}`)
  }
}

const WORDS: Record<ToldKind, (word: string, count: number) => string> = {
  story: (title, count) =>
    count === 1
      ? `"${title}" is read as one task, and the boxes under it as its acceptance criteria.`
      : `${count} headings are read as one task each, and the boxes under them as their acceptance criteria.`,
  'no-box': (_, count) =>
    `${count === 1 ? 'This heading has' : `${count} headings have`} no box to tick, and ${count === 1 ? 'is' : 'are'} left out. Add a line "- [ ] …" under each that is a task.`,
  'for-all': (_, count) =>
    `${count === 1 ? '1 box belongs' : `${count} boxes belong`} to no task and ${count === 1 ? 'is' : 'are'} left out. Put conditions for every task into "checks".`,
  'late-key': word =>
    `"${word}:" is read as a note. Keys come first below their task, and without a bullet; move it up if it is one.`,
  'unknown-key': word => `"${word}:" is no key of a task, and is read as a note.`,
}
const MAX_NOTICES = 20

function placesOf(lines: readonly number[]): string {
  const more = lines.length - MAX_PLACES
  return `${lines.slice(0, MAX_PLACES).join(',')}${more > 0 ? ` and ${more} more` : ''}`
}
const MAX_PLACES = 3

function widthOf(space: string): number {
  return [...space].reduce((width, char) => width + (char === '\t' ? 4 : 1), 0)
}

/** Matches `- [ ]`, `* [x]`, `1. [ ]` and `2) [ ]`. */
const BOX = /^([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\](?:[ \t]+(.*))?$/
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*$/
const KEY_LINE = /^([ \t]*)([-*+] +)?([a-z][a-z_]*):(?:[ \t]+(.*))?$/
/** A heading, or a line in bold or plain letters, above acceptance criteria. */
const ACCEPTANCE =
  /^[\s>*_+-]*(?:acceptance (?:criteria|tests?|checks?)|definition of done|success criteria|exit criteria|done when)[\s:*_]*$/i
/** Matches `US-001: …`, `Story 1.2: …` and `[FEAT-7] …`, but not `Phase 1`, whose boxes are tasks. */
const STORY = [
  /^\[?(?:US|STORY|FR|NFR|REQ|TASK|FEAT|FEATURE|BUG|ISSUE|TICKET)[-_ ]?\d+(?:\.\d+)*\b/i,
  /^(?:user )?(?:story|task|feature|requirement|ticket|issue)\s+#?\d+(?:\.\d+)*\b/i,
  /^\[?[A-Z][A-Z0-9]{0,9}-\d+\]?(?:[:.)]|\s+[-–—]|\s*$)/,
  /^\[[A-Z][A-Z0-9]{0,9}-\d+\]\s/,
]
/** A box with a number of its own is a task: `T012 …`, `TASK-3: …`. */
const OWN_ID = /^[*_`[]*(?:[A-Z]{1,6}-?\d{2,}|[A-Z]{2,10}-\d+)\b/
