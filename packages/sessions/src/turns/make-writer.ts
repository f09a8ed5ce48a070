import type { SessionHarness } from '@chirality/core'
import type { BudgetLimits } from '../budget/budget-limits.ts'
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
  harness: SessionHarness
}

/** A writer for a turn, new or found again, that stops the turn when a budget is used up. */
export function makeWriter({
  project,
  view,
  recorder,
  turnId,
  limits,
  harness,
}: MakeWriterOptions): TurnWriter {
  const { id: sessionId } = view.session
  const { budget: projectBudget, prices, harnessLog } = project
  return new TurnWriter({
    ...{ turnId, recorder },
    rows: new TurnRows(harnessLog, sessionId),
    watch: new TurnWatch({ sessionId, turnId, limits, projectBudget, prices }),
    pending: () => view.pending,
    onOverBudget: () => harness.interrupt(sessionId),
  })
}
