import { isScalar } from 'yaml'
import type { PersonaConfig, PersonaPermissionMode } from '../persona.ts'
import { type FieldValue, readChoice, readNumber, readText, readTexts, readWord } from './field-value.ts'
import { type PolicyRule, parsePolicyRule } from './policy-rule.ts'
import { isPattern, splitToolList, toolName, toolProblem } from './tool-list.ts'

export type PersonaSettings = Omit<PersonaConfig, 'id' | 'sourceFile'>

/** Every key a persona's frontmatter may have, and what it sets. */
export const FIELDS: Readonly<Record<string, (value: FieldValue) => PersonaSettings>> = {
  tools: value => ({ allowedTools: readAvailable(value) }),
  disallowed_tools: value => ({ disallowedTools: readTools(value) }),
  auto_approve_tools: value => ({ autoApproveTools: readAutoApproved(value) }),
  max_turns: value => ({ maxTurns: readNumber(value, { whole: true }) }),
  description: value => ({ description: readText(value) }),
  harness: value => ({ harness: readWord(value, HARNESS) }),
  model: value => ({ model: readWord(value, MODEL) }),
  permission_mode: value => ({ permissionMode: readPermissionMode(value) }),
  budget_usd: value => ({ budgetUsd: readNumber(value, { whole: false }) }),
  budget_tokens: value => ({ budgetTokens: readNumber(value, { whole: true }) }),
  budget_minutes: value => ({ budgetMinutes: readNumber(value, { whole: false }) }),
  policy: value => ({ policy: readPolicy(value) }),
}

const HARNESS = /^[a-z][a-z0-9-]{0,63}$/
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
