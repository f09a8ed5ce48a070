import { CAGE_LEVELS, HARNESS_ID } from '@chirality/core'
import { isAlias, isMap, isScalar, isSeq } from 'yaml'
import type { PersonaConfig, PersonaPermissionMode } from '../persona.ts'
import { nearest, type PolicyRule, parsePolicyRule } from './policy-rule.ts'
import { isPattern, splitToolList, toolName, toolProblem } from './tool-list.ts'

export type PersonaSettings = Omit<PersonaConfig, 'id' | 'sourceFile'>

/** Every key a persona's frontmatter may have, and what it sets. */
export const FIELDS: Readonly<Record<string, (value: FieldValue) => PersonaSettings>> = {
  tools: value => ({ allowedTools: readAvailable(value) }),
  disallowed_tools: value => ({ disallowedTools: readTools(value) }),
  auto_approve_tools: value => ({ autoApproveTools: readAutoApproved(value) }),
  max_turns: value => ({ maxTurns: readNumber(value, { whole: true }) }),
  description: value => ({ description: readText(value) }),
  harness: value => ({ harness: readWord(value, HARNESS_ID) }),
  next_harnesses: value => ({ nextHarnesses: readNames(value, HARNESS_ID) }),
  model: value => ({ model: readWord(value, MODEL) }),
  permission_mode: value => ({ permissionMode: readPermissionMode(value) }),
  cage: value => ({ cage: readChoice(value, CAGE_LEVELS) }),
  budget_usd: value => ({ budgetUsd: readNumber(value, { whole: false }) }),
  budget_tokens: value => ({ budgetTokens: readNumber(value, { whole: true }) }),
  budget_minutes: value => ({ budgetMinutes: readNumber(value, { whole: false }) }),
  policy: value => ({ policy: readPolicy(value) }),
}

const MODEL = /^[A-Za-z0-9][\w.:/@[\]-]{0,199}$/
const PERMISSION_MODES: readonly PersonaPermissionMode[] = ['default', 'acceptEdits', 'dontAsk', 'plan']

function readPermissionMode(value: FieldValue): PersonaPermissionMode | undefined {
  if (isScalar(value.node) && value.node.value === 'bypassPermissions') {
    value.problem(
      'permission_mode may not be bypassPermissions: a file in a project cannot take all checks away. ' +
        'Choose it for a turn, by hand.',
    )
    return undefined
  }
  return readChoice(value, PERMISSION_MODES)
}

function readAvailable(value: FieldValue): string[] | undefined {
  const tools = readTools(value)
  if (tools?.includes(DEFAULT_SET)) {
    if (tools.length > 1) value.problem('tools: default means all the usual tools, so it must stand alone.')
    return undefined
  }
  for (const tool of tools?.filter(isPattern) ?? []) {
    value.warning(
      `tools goes by whole tools, so ${tool} makes nothing available. ` +
        `Write ${toolName(tool)} here, and ${tool} in auto_approve_tools.`,
    )
  }
  return tools
}

function readAutoApproved(value: FieldValue): string[] | undefined {
  const tools = readTools(value)
  for (const tool of tools?.filter(candidate => ANY_COMMAND.test(candidate)) ?? []) {
    value.warning(
      `auto_approve_tools has ${tool}: every shell command runs without asking. ` +
        'Name the commands, such as Bash(git *).',
    )
  }
  return tools
}

const DEFAULT_SET = 'default'
const ANY_COMMAND = /^Bash(\(\s*:?\**\s*\))?$/

function readTools(value: FieldValue): string[] | undefined {
  const texts = readTexts(value)
  if (texts === undefined) return undefined
  const tools = new Set<string>()
  for (const { text, node } of texts) {
    // Items of a list too: "Write, Edit" as one name would deny nothing.
    for (const tool of splitToolList(text)) {
      const problem = toolProblem(tool)
      if (problem) value.problem(`${value.key}: ${problem}`, node)
      tools.add(tool)
    }
  }
  return [...tools]
}

/** First match wins, so their order is kept. A rule that cannot be read may be the one that denies. */
function readPolicy(value: FieldValue): PolicyRule[] | undefined {
  const rules: PolicyRule[] = []
  for (const { text, node } of readTexts(value) ?? []) {
    const { rule, problem } = parsePolicyRule(text, value.lineOf(node))
    if (rule === undefined) value.problem(`policy: ${problem}`, node)
    else if (rule.effect === 'allow') value.problem(`policy: "${rule.text}" ${NO_ALLOW}`, node)
    else rules.push(rule)
  }
  return rules
}

const NO_ALLOW =
  'is not for a persona: a file in a project can only ask or deny. Allow it in your own policy; ' +
  '`chirality policy show` says where that is.'

/** One value of the frontmatter, and where to say what is wrong with it. Aliases are never followed. */
interface FieldValue {
  key: string
  node: unknown
  /** `at`: the part of the value that is meant; the whole of it if absent. */
  problem: (message: string, at?: unknown) => void
  warning: (message: string, at?: unknown) => void
  /** Line of a part of the value. */
  lineOf: (at: unknown) => number
}

function readText(value: FieldValue): string | undefined {
  const text = isScalar(value.node) ? value.node.value : undefined
  if (typeof text !== 'string') return wrongType(value, 'a text')
  if (text.trim() === '') return fail(value, 'is empty. Fill it in or remove the line.')
  // They would reach terminals and command lines.
  if (CONTROL_CHARACTERS.test(text)) return fail(value, 'holds control characters. Remove them.')
  return text.trim()
}

/** Text that stands alone: no blanks, and nothing that a command line could take for an option. */
function readWord(value: FieldValue, shape: RegExp): string | undefined {
  const text = readText(value)
  if (text === undefined || shape.test(text)) return text
  return fail(value, `is ${JSON.stringify(text)}, which is not a valid name.`)
}

function readNames(value: FieldValue, shape: RegExp): string[] | undefined {
  const names: string[] = []
  for (const { text, node } of readTexts(value) ?? [])
    for (const name of text.split(',').map(part => part.trim())) {
      if (shape.test(name)) names.push(name)
      else value.problem(`${value.key} has ${JSON.stringify(name)}, which is not a valid name.`, node)
    }
  return names.length === 0 ? undefined : names
}

function readChoice<T extends string>(value: FieldValue, choices: readonly T[]): T | undefined {
  const text = readText(value)
  if (text === undefined) return undefined
  const choice = choices.find(candidate => candidate === text)
  if (choice !== undefined) return choice
  return fail(value, `is ${JSON.stringify(text)}: use ${choices.join(', ')}.${nearest(text, choices)}`)
}

function readNumber(value: FieldValue, options: { whole: boolean }): number | undefined {
  const kind = options.whole ? 'a whole number above 0' : 'a number above 0'
  const number = isScalar(value.node) ? value.node.value : undefined
  if (typeof number !== 'number') return wrongType(value, kind)
  const isGood = options.whole ? Number.isSafeInteger(number) : Number.isFinite(number)
  return isGood && number > 0 ? number : fail(value, `is ${number}: it must be ${kind}.`)
}

/** The texts of a list, or of one text. Each comes with its node, so that a problem has a line. */
function readTexts(value: FieldValue): { text: string; node: unknown }[] | undefined {
  const { node } = value
  if (isScalar(node) && typeof node.value === 'string') return [{ text: node.value, node }]
  if (!isSeq(node)) return wrongType(value, 'a list, or names separated by commas')
  const texts: { text: string; node: unknown }[] = []
  for (const item of node.items) {
    if (isScalar(item) && typeof item.value === 'string') texts.push({ text: item.value, node: item })
    else value.problem(`${value.key} has ${typeName(item)} in its list, where only names are allowed.`, item)
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
  if (typeof value === 'string') return 'a quoted text'
  return typeof value === 'number' ? `the number ${value}` : String(value)
}
