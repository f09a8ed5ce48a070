import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CodexOutcome, SessionState, UIEvent, UsageInfo } from '../src/index.ts'
import { createCodexAppServerTranslator, parseCodexEvent } from '../src/index.ts'
import { conversation, printApp, printExec, type Turn } from './support/codex-conversation.ts'
import { fold, type Line, SESSION, THREAD, translateExec } from './support/codex-lines.ts'

test('C1: a conversation ends in the same session state through either voice', () => {
  fc.assert(
    fc.property(conversation(), turns => {
      const exec = throughExec(turns)
      const app = throughAppServer(turns)
      expect(app.states.map(view)).toStrictEqual(exec.states.map(view))
      expect(app.outcomes.map(outcomeView)).toStrictEqual(exec.outcomes.map(outcomeView))
      expect(spentUpToSuccess(app.outcomes)).toStrictEqual(spentUpToSuccess(exec.outcomes))
    }),
    { numRuns: 500 },
  )
})

interface Through {
  states: SessionState[]
  outcomes: (CodexOutcome | null)[]
  usageTotal: UsageInfo | undefined
}

/** A process a turn; each is told what was used before it. */
function throughExec(turns: readonly Turn[]): Through {
  const result: Through = { states: [], outcomes: [], usageTotal: undefined }
  for (const [index, lines] of printExec(turns).entries()) {
    const options = { turnId: `t${index}`, usageBefore: result.usageTotal, agent: { cwd: '/project' } }
    const { events, outcome, usageTotal } = translateExec(lines, options)
    result.states.push(fold(events))
    result.outcomes.push(outcome)
    result.usageTotal = usageTotal
  }
  return result
}

/** One process; what it prints is cut where a turn ends. */
function throughAppServer(turns: readonly Turn[]): Through {
  const translator = createCodexAppServerTranslator({
    sessionId: SESSION,
    threadId: THREAD,
    agent: { cwd: '/project' },
  })
  const result: Through = { states: [], outcomes: [], usageTotal: undefined }
  let events: UIEvent[] = []
  for (const line of printApp(turns)) {
    events.push(...translator.translate(parseCodexEvent(line)))
    if (line.method !== 'turn/completed') continue
    result.states.push(fold(events))
    result.outcomes.push(translator.outcome)
    events = []
  }
  expect(translator.end()).toStrictEqual([])
  return { ...result, usageTotal: translator.usageTotal }
}

/** Without ids and times, and without what `exec` never says. */
function view(state: SessionState) {
  const items = state.items
    .map(({ id: _id, at: _at, seq: _seq, ...item }) => {
      const {
        endedAt: _end,
        durationMs: _ms,
        detail,
        data,
        facts,
        edits: _edits,
        todos: _todos,
        ...rest
      } = item as Line
      return { ...rest, detail: plain(detail), data: plain(data), facts: withoutLines(facts) }
    })
    // Text that no attempt finished, which exec does not print.
    .filter(item => !('aborted' in item && item.aborted === true))
  // Nor what a turn that failed has cost: exec tells its tokens only with the next one that succeeds.
  const { driftCount, pending, phase, live } = state
  return { items, driftCount, pending, phase, live }
}

/** `exec` names the files of a change, and not what changes in them. */
function withoutLines(facts: unknown): unknown {
  const { edits = [], ...rest } = (facts ?? {}) as { edits?: Line[] }
  return { ...rest, files: edits.map(({ path, change }) => ({ path, change })) }
}

function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const { taskId: _id, durationMs: _ms, cwd: _cwd, changes: _changes, ...rest } = value as Line
  return Object.keys(rest).length > 0 ? rest : undefined
}

/** Without the point to fork at: `exec` does not name its turn. */
function outcomeView(outcome: CodexOutcome | null) {
  const { usage: _usage, forkPoint: _point, ...rest } = outcome ?? {}
  return rest
}

/** A failed turn's tokens are told by app-server at once, by exec with the next turn that succeeds. */
function spentUpToSuccess(outcomes: readonly (CodexOutcome | null)[]): number[] {
  let spent = 0
  return outcomes.flatMap(outcome => {
    if (!outcome) return []
    spent += outcome.usage.input_tokens + outcome.usage.output_tokens
    return outcome.isError ? [] : [spent]
  })
}
