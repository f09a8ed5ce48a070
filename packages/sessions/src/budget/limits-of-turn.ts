import { SessionStartError } from '../host/session-errors.ts'
import { type BudgetLimit, BudgetLimits } from './budget-limits.ts'
import type { ProjectBudget } from './project-budget.ts'

/** What a turn may cost, as it was when the turn began. */
export interface TurnBudget {
  /** What the session had cost by then. */
  sessionUsd: number
  /** For this turn alone. */
  turnLimitUsd?: number
  sessionLimitUsd?: number
  /** A persona's budget is for all that a session of it does. */
  personaLimitUsd?: number
}

/** Everything that limits what a turn may cost. */
export async function limitsOfTurn(
  turnId: string,
  budget: TurnBudget,
  project: ProjectBudget,
): Promise<BudgetLimits> {
  const inSession = () => budget.sessionUsd
  return new BudgetLimits([
    ...limit('turn', budget.turnLimitUsd, () => 0),
    ...limit('session', budget.sessionLimitUsd, inSession),
    ...limit('persona', budget.personaLimitUsd, inSession),
    ...(await project.limitFor(turnId)),
  ])
}

/** Throws when something is used up already: then no turn begins. */
export function requireBudget(limits: BudgetLimits): void {
  const usedUp = limits.usedUp()
  if (usedUp === undefined) return
  const { scope, spentUsd, limitUsd } = usedUp
  const message = `The budget of the ${scope} is used up: ${usd(spentUsd)} of ${usd(limitUsd)}. ${REMEDY[scope]}`
  throw new SessionStartError('budget', message)
}

const REMEDY = {
  turn: 'Give the turn more.',
  session: 'Raise the budget of the session, or start another one.',
  persona: "Raise budget_usd in the persona's file, or start another session.",
  project: 'Raise max_cost_usd in .chirality/state/budget.json.',
}

function limit(
  scope: BudgetLimit['scope'],
  limitUsd: number | undefined,
  beforeUsd: () => number,
): BudgetLimit[] {
  return limitUsd === undefined ? [] : [{ scope, limitUsd, beforeUsd }]
}

function usd(amount: number): string {
  return `$${amount.toFixed(amount < 1 ? 4 : 2)}`
}
