import type { ToolKind } from '../events/tool-facts.ts'
import type { CallDecision, ToolItem } from '../session/state.ts'
import { editsOf, factsOf } from '../translate/tool-facts.ts'

/**
 * What is known of a call: it waits for an answer, runs, ran, ran and reported a failure, was denied, did nothing, goes
 * on in the background, or was cut off while it ran. Decided only here, so that no reader says that a call ran which
 * did not.
 */
export type CallState = 'wants' | 'runs' | 'ran' | 'failed' | 'denied' | 'undone' | 'background' | 'cut-off'

export type ToldCall = Pick<
  ToolItem,
  'name' | 'input' | 'facts' | 'status' | 'content' | 'wait' | 'decided'
> &
  Partial<Pick<ToolItem, 'durationMs' | 'asked' | 'edits' | 'detail'>>

export function callState(call: ToldCall): CallState {
  const { status, wait, decided, durationMs } = call
  const waits = (wait?.askedAt ?? null) !== null
  const isDenied = decided?.outcome === 'denied'
  switch (status) {
    case 'running':
      return waits ? 'wants' : isDenied ? 'denied' : 'runs'
    case 'done':
      return wait?.background && (durationMs ?? null) === null ? 'background' : 'ran'
    case 'unfinished':
      return isDenied ? 'denied' : waits || decided?.outcome === 'cancelled' ? 'undone' : 'cut-off'
    case 'failed':
      return isDenied ? 'denied' : failedState(call)
  }
}

/** The call changed nothing: no reader may show its edits as made. */
export function isUndone(call: ToldCall): boolean {
  const state = callState(call)
  return state === 'denied' || state === 'undone'
}

/** A command that failed ran. An edit, a read or a search that failed did nothing. */
function failedState(call: ToldCall): CallState {
  const content = call.content?.slice(0, MAX_SCAN_CHARS) ?? ''
  if (CUT_SIGNS.some(sign => sign.test(content))) return 'cut-off'
  if (call.decided?.outcome === 'cancelled' || UNMADE_SIGNS.some(sign => sign.test(content))) return 'undone'
  return ACTS[factsOf(call).kind]?.failsWhole ? 'undone' : 'failed'
}

const MAX_SCAN_CHARS = 2000

const CUT_SIGNS: readonly RegExp[] = [
  /^No result: the turn ended/,
  /^The turn ended before this call did/,
  /\[Request interrupted by user/,
  /<error>Command was aborted before completion/,
]

/** The beginnings of a result that says that the call was never made. */
const UNMADE_SIGNS: readonly RegExp[] = [
  // Claude Code: a call that does not fit its tool, a hook or a mode that refuses.
  /^<tool_use_error>/,
  /^InputValidationError/,
  /^PreToolUse:\S+ hook error/,
  /^Hook PreToolUse/,
  /^Cannot .{1,400} while in plan mode/,
  /^(?:The user doesn't want to (?:proceed|take this action)|Permission to use |Claude requested permissions )/,
  // Codex
  /^Declined: it did not run/,
  // The loop of the Messages API
  /^Not (?:executed|allowed)\b/,
  /^The input of \S+ (?:does not fit its schema|is no JSON object)/,
  /^The user changed the input, and it does not fit/,
]

/** A call in words: `Ran`, `Did not edit`, `Denied`. */
export interface CallWords {
  state: CallState
  /** The tool's own name where that says more. */
  verb: string
  /** Why it was denied or did nothing, in one line; empty for any other state. */
  reason: string
  /** Set if another input ran than the agent asked for. */
  edited?: { by: string; asked: string }
}

export function callWords(call: ToldCall): CallWords {
  const state = callState(call)
  const facts = factsOf(call)
  const act = facts.kind === 'edit' ? editAct(call) : ACTS[facts.kind]
  const verb = facts.questions
    ? questionVerb(state)
    : act
      ? actVerb(act, state)
      : labelVerb(facts.label, state)
  const words: CallWords = { state, verb, reason: reasonOf(call, state) }
  const { asked, name, decided } = call
  if (asked === undefined) return words
  const by = decided?.by === 'person' ? 'edited by you' : 'edited before it ran'
  const object = factsOf({ name, ...asked }).object
  return { ...words, edited: { by, asked: object === facts.object ? '' : object } }
}

/** What calls do, where a verb says it. */
interface Act {
  do: string
  doing: string
  did: string
  /** A call that reports a failure did nothing at all. */
  failsWhole: boolean
}

const ACTS: Readonly<Partial<Record<ToolKind, Act>>> = {
  read: { do: 'read', doing: 'Reading', did: 'Read', failsWhole: true },
  edit: { do: 'edit', doing: 'Editing', did: 'Edited', failsWhole: true },
  execute: { do: 'run', doing: 'Running', did: 'Ran', failsWhole: false },
  search: { do: 'search', doing: 'Searching', did: 'Searched', failsWhole: true },
  fetch: { do: 'fetch', doing: 'Fetching', did: 'Fetched', failsWhole: true },
}

const EDIT_ACTS = {
  add: { do: 'write', doing: 'Writing', did: 'Wrote', failsWhole: true },
  delete: { do: 'delete', doing: 'Deleting', did: 'Deleted', failsWhole: true },
  update: { do: 'edit', doing: 'Editing', did: 'Edited', failsWhole: true },
} as const satisfies Record<string, Act>

function editAct(call: ToldCall): Act {
  const changes = new Set(editsOf(call).map(({ change }) => change))
  const [only = 'update'] = changes
  return EDIT_ACTS[changes.size === 1 ? only : 'update']
}

function actVerb(act: Act, state: CallState): string {
  switch (state) {
    case 'wants':
      return `Wants to ${act.do}`
    case 'runs':
      return act.doing
    case 'ran':
    case 'failed':
      return act.did
    case 'denied':
      return act.do === 'run' ? 'Denied' : `Denied ${act.doing.toLowerCase()}`
    case 'undone':
      return `Did not ${act.do}`
    case 'background':
      return 'Started'
    case 'cut-off':
      return 'Cut off'
  }
}

function labelVerb(label: string, state: CallState): string {
  switch (state) {
    case 'wants':
      return `Wants ${label}`
    case 'denied':
      return `Denied ${label}`
    case 'undone':
      return `Did not use ${label}`
    case 'cut-off':
      return `Cut off ${label}`
    default:
      return label
  }
}

function questionVerb(state: CallState): string {
  return state === 'wants' || state === 'runs' ? 'Asking' : 'Asked'
}

function reasonOf({ content, decided }: ToldCall, state: CallState): string {
  if (state === 'denied') return denialOf(decided)
  if (state !== 'undone') return ''
  const told = firstLine(content ?? '')
  if (decided?.outcome !== 'cancelled') return told || 'it failed'
  return decided.by === 'turn-end' ? 'the turn ended before an answer' : told || 'taken back by the agent'
}

function denialOf(decided: CallDecision | undefined): string {
  const why = firstLine(decided?.message ?? '')
  switch (decided?.by) {
    case 'person':
      return why === '' ? 'by you' : `by you: “${why}”`
    case 'policy':
      return decided.rule === undefined ? why || 'by a rule' : `by a rule: ${decided.rule}`
    case 'timeout':
      return 'nobody answered'
    default:
      return why || 'no answer could be had'
  }
}

const MAX_REASON_CHARS = 160

function firstLine(text: string): string {
  const plain = text
    .slice(0, MAX_SCAN_CHARS)
    .replace(/<\/?tool_use_error>/g, '')
    .trim()
    .replace(/^Error: /, '')
  const line = plain.split('\n', 1)[0]?.replace(/\s+/g, ' ').trim() ?? ''
  const chars = [...line]
  return chars.length > MAX_REASON_CHARS ? `${chars.slice(0, MAX_REASON_CHARS - 1).join('')}…` : line
}
