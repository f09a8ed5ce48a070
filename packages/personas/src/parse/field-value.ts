import { isAlias, isMap, isScalar, isSeq } from 'yaml'
import { didYouMean } from './did-you-mean.ts'

/** One value of the frontmatter, and where to say what is wrong with it. Aliases are never followed. */
export interface FieldValue {
  key: string
  node: unknown
  /** `at`: the part of the value that is meant; the whole of it if absent. */
  problem: (message: string, at?: unknown) => void
  warning: (message: string, at?: unknown) => void
  /** Line of a part of the value. */
  lineOf: (at: unknown) => number
}

export function readText(value: FieldValue): string | undefined {
  const text = isScalar(value.node) ? value.node.value : undefined
  if (typeof text !== 'string') return wrongType(value, 'a text')
  if (text.trim() === '') return fail(value, 'is empty. Fill it in or remove the line.')
  // They would reach terminals and command lines.
  if (CONTROL_CHARACTERS.test(text)) return fail(value, 'holds control characters. Remove them.')
  return text.trim()
}

/** Text that stands alone: no blanks, and nothing that a command line could take for an option. */
export function readWord(value: FieldValue, shape: RegExp): string | undefined {
  const text = readText(value)
  if (text === undefined || shape.test(text)) return text
  return fail(value, `is ${JSON.stringify(text)}, which is no valid name.`)
}

export function readChoice<T extends string>(value: FieldValue, choices: readonly T[]): T | undefined {
  const text = readText(value)
  if (text === undefined) return undefined
  const choice = choices.find(candidate => candidate === text)
  if (choice !== undefined) return choice
  return fail(value, `is ${JSON.stringify(text)}: use ${choices.join(', ')}.${didYouMean(text, choices)}`)
}

export function readNumber(value: FieldValue, options: { whole: boolean }): number | undefined {
  const kind = options.whole ? 'a whole number above 0' : 'a number above 0'
  const number = isScalar(value.node) ? value.node.value : undefined
  if (typeof number !== 'number') return wrongType(value, kind)
  const isGood = options.whole ? Number.isSafeInteger(number) : Number.isFinite(number)
  return isGood && number > 0 ? number : fail(value, `is ${number}: it must be ${kind}.`)
}

/** The texts of a list, or of one text. Each comes with its node, so that a problem has a line. */
export function readTexts(value: FieldValue): { text: string; node: unknown }[] | undefined {
  const { node } = value
  if (isScalar(node) && typeof node.value === 'string') return [{ text: node.value, node }]
  if (!isSeq(node)) return wrongType(value, 'a list, or names with commas between them')
  const texts: { text: string; node: unknown }[] = []
  for (const item of node.items) {
    if (isScalar(item) && typeof item.value === 'string') texts.push({ text: item.value, node: item })
    else value.problem(`${value.key} has ${typeName(item)} in its list: names are needed.`, item)
  }
  return texts
}

function wrongType(value: FieldValue, wanted: string): undefined {
  return fail(value, `must be ${wanted}, not ${typeName(value.node)}.`)
}

function fail(value: FieldValue, message: string): undefined {
  value.problem(`${value.key} ${message}`)
  return undefined
}

const CONTROL_CHARACTERS = /(?![\t\n])\p{Cc}/u

function typeName(node: unknown): string {
  if (isSeq(node)) return 'a list'
  if (isMap(node)) return 'a map'
  if (isAlias(node)) return 'an alias'
  if (!isScalar(node)) return 'nothing'
  const { value } = node
  if (value === null) return 'nothing'
  if (typeof value === 'string') return 'a text in quotes'
  return typeof value === 'number' ? `the number ${value}` : String(value)
}
