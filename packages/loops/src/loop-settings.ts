import { HARNESS_ID } from '@chirality/core'
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { badList as bad } from './loop-error.ts'
import { misspelled } from './task-items.ts'

const COMMANDS = z.union([
  z
    .string()
    .min(1)
    .transform(one => [one]),
  z.array(z.string().min(1)),
])
const HARNESS_NAMES = z
  .union([z.string(), z.array(z.string())])
  .transform(given => namesIn([given].flat()))
  .refine(names => names.length > 0 && names.every(isHarnessName), 'names of agents, with commas between')
const MINUTES = z
  .number()
  .positive()
  .max(60 * 24 * 30)

/** Values of the key `tests`. */
export const TESTS = ['may change', 'must stay'] as const

const SETTINGS = z.strictObject({
  /** Checks of every task, run before its own. */
  checks: COMMANDS.default([]),
  /** Commands run once in each new worktree, before the agent. */
  setup: COMMANDS.default([]),
  persona: z.string().min(1).optional(),
  harness: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  /** Default for tasks that set no `where`: `here`, `fleet`, or labels of a machine of the fleet. */
  where: z.string().min(1).optional(),
  /** Number of tasks at once, each in its own worktree. */
  parallel: z.int().min(1).max(16).default(1),
  /** Number of agent turns in all tasks together. */
  max_iterations: z.int().min(1).optional(),
  /** Number of agent turns per task. */
  max_attempts: z.int().min(1).max(100).default(5),
  /** The loop ends after this many tasks in a row that could not be proved. */
  max_failures: z.int().min(1).default(3),
  budget_usd: z.number().positive().optional(),
  budget_tokens: z.int().positive().optional(),
  /** Clock time of the whole loop since its first start. */
  max_minutes: MINUTES.optional(),
  iteration_minutes: MINUTES.default(30),
  check_minutes: MINUTES.default(10),
  /** How long a question may wait before its task is parked. */
  answer_minutes: z
    .number()
    .min(0)
    .max(60 * 24)
    .default(0),
  /** True if each attempt at a task starts a new session. */
  fresh: z.boolean().default(false),
  /** True if an unproved task whose agent was denied something waits for a person. */
  park_on_denial: z.boolean().default(true),
  /** How often the loop may wait for the reset of a plan's limit before it continues spending. */
  wait_for_limits: z.int().min(0).max(50).default(0),
  /** True if another agent may continue a task when its agent reaches a limit of its plan. */
  hand_over: z.boolean().optional(),
  /** Agents that may continue it, in order. A task that names its own has only those; without both, the persona's list counts. */
  next_harnesses: HARNESS_NAMES.optional(),
  /** States whether tasks are expected to change existing tests. Such changes are shown either way. */
  tests: z.enum(TESTS).optional(),
  /** Number of small changes of the changed lines that are tried against the checks. */
  mutation: z.int().min(0).max(50).optional(),
  /** Time limit for all of them together, per task. */
  mutation_minutes: MINUTES.default(15),
})

/** Splits names such as `codex, claude-code`, given on one or several lines. */
export function namesIn(values: readonly string[]): string[] {
  return values
    .flatMap(value => value.split(','))
    .map(name => name.trim())
    .filter(Boolean)
}

export function isHarnessName(name: string): boolean {
  return HARNESS_ID.test(name)
}

/** Settings in a journal. They may have keys of a later version, and lack keys of this one. */
export const STORED_SETTINGS = z.looseObject(SETTINGS.shape)

/** Settings from the front matter of a list, with defaults. */
export type LoopSettings = z.infer<typeof SETTINGS>

/** Sections of a Symphony `WORKFLOW.md`. Only the parts with the same meaning here are used. */
const SYMPHONY = ['tracker', 'polling', 'workspace', 'hooks', 'agent']

export interface ReadSettings {
  settings: LoopSettings
  notices: string[]
  /** Index of the first line after the front matter. */
  firstLine: number
}

export function readListSettings(text: string, name: string): ReadSettings {
  const { yaml, firstLine } = splitFrontMatter(text, name)
  if (yaml === undefined) return { settings: SETTINGS.parse({}), notices: [], firstLine }
  const lineCounter = new LineCounter()
  const document = parseDocument(yaml, { lineCounter, prettyErrors: false, uniqueKeys: true })
  const lineAt = (offset: number) => lineCounter.linePos(offset).line + 1
  const [error] = document.errors
  if (error !== undefined) throw bad(name, lineAt(error.pos[0]), error.message)
  const lines = new Map<string, number>()
  if (isMap(document.contents))
    for (const { key } of document.contents.items)
      if (isScalar(key)) lines.set(String(key.value), lineAt(key.range?.[0] ?? 0))
  const given: unknown = document.toJS({ maxAliasCount: 10 }) ?? {}
  if (typeof given !== 'object' || Array.isArray(given))
    throw bad(name, 2, 'The front matter is a list of "key: value" lines.')
  const { own, notices } = withoutSymphony(given as Record<string, unknown>)
  const lineOf = (key: string) => lines.get(key) ?? 2
  const others = Object.keys(own).filter(key => !Object.hasOwn(SETTINGS.shape, key))
  for (const key of others) {
    const near = misspelled(key, Object.keys(SETTINGS.shape))
    // A misspelled budget key would mean no budget.
    if (near !== undefined)
      throw bad(name, lineOf(key), `Unknown key "${key}". Did you mean "${near}"? Otherwise rename it.`)
    delete own[key]
  }
  if (others.length > 0)
    notices.push(
      `${name}:${lineOf(others[0] ?? '')}: ${others.slice(0, MAX_NAMED).join(', ')}${others.length > MAX_NAMED ? ', …' : ''}: not used by a loop, and left as it is.`,
    )
  const parsed = SETTINGS.safeParse(own)
  if (parsed.success) return { settings: parsed.data, notices, firstLine }
  const [issue] = parsed.error.issues
  const key = String(issue?.path[0] ?? '')
  throw bad(name, lineOf(key), `"${key}": ${issue?.message ?? 'is not valid'}.`)
}

const MAX_NAMED = 8

function withoutSymphony(given: Record<string, unknown>): {
  own: Record<string, unknown>
  notices: string[]
} {
  if (!SYMPHONY.some(name => Object.hasOwn(given, name))) return { own: { ...given }, notices: [] }
  // Symphony has a further section for each agent.
  const isSection = (name: string) => typeof given[name] === 'object' && !Object.hasOwn(SETTINGS.shape, name)
  const sections = Object.keys(given).filter(isSection)
  const own = Object.fromEntries(Object.entries(given).filter(([name]) => !isSection(name)))
  const section = (name: string) => {
    const value = given[name]
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  }
  const { after_create } = section('hooks')
  const { max_concurrent_agents, max_turns } = section('agent')
  if (typeof after_create === 'string') own.setup ??= after_create
  if (Number.isInteger(max_concurrent_agents)) own.parallel ??= max_concurrent_agents
  if (Number.isInteger(max_turns)) own.max_attempts ??= max_turns
  const used = 'hooks.after_create, agent.max_concurrent_agents and agent.max_turns'
  return { own, notices: [`Only ${used} of ${sections.join(', ')} are used.`] }
}

function splitFrontMatter(text: string, name: string): { yaml: string | undefined; firstLine: number } {
  const lines = text.split('\n')
  if ((lines[0] ?? '').replace(/^\uFEFF/, '').trimEnd() !== '---') return { yaml: undefined, firstLine: 0 }
  const end = lines.findIndex((line, at) => at > 0 && line.trimEnd() === '---')
  if (end < 0) throw bad(name, 1, 'The front matter has no end: a line of three dashes is missing.')
  return { yaml: lines.slice(1, end).join('\n'), firstLine: end + 1 }
}
