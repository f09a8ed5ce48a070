import type { SessionHarness } from '@chirality/core'
import type { BudgetLimits } from '../budget/budget-limits.ts'
import type { TurnBudget } from '../budget/limits-of-turn.ts'
import type { ProjectContext } from '../host/host-context.ts'
import type { SessionView } from '../host/session-view.ts'
import type { SessionRecorder } from './session-recorder.ts'
import { TurnRows } from './turn-rows.ts'
import { TurnWatch } from './turn-watch.ts'
import { TurnWriter } from './turn-writer.ts'

export interface MakeWriterOptions {
  project: ProjectContext
  view: SessionView
  recorder: SessionRecorder
  turnId: string
  limits: BudgetLimits
  budget: TurnBudget
  harness: SessionHarness
}

/** A writer for a turn, new or found again, that stops the turn when a budget is used up. */
export function makeWriter({
  project,
  view,
  recorder,
  turnId,
  limits,
  budget,
  harness,
}: MakeWriterOptions): TurnWriter {
  const { id: sessionId, projectRoot } = view.session
  const { budget: projectBudget, prices, harnessLog } = project
  const watch = new TurnWatch({
    ...{ sessionId, turnId, limits, projectBudget, prices: prices() },
    before: budget.session,
    now: () => view.spent,
    model: () => view.session.model,
  })
  return new TurnWriter({
    ...{ turnId, projectRoot, recorder },
    rows: new TurnRows(harnessLog, sessionId),
    watch,
    pending: () => view.pending,
    onOverBudget: () => harness.interrupt(sessionId),
  })
}
