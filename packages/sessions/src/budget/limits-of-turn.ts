import { formatDuration, tokensText, usdText } from '@chirality/core'
import { startError } from '../session-errors.ts'
import type { Spending } from './budget-book.ts'
import {
  type BudgetLimit,
  BudgetLimits,
  type BudgetUnit,
  limits,
  NOTHING,
  type SpendingLimit,
  type UsedUp,
} from './budget-limits.ts'

/** What a turn may cost, as it was when the turn began. */
export interface TurnBudget {
  /** What the session had spent by then; what it spends beside its turns is added. */
  session: Spending
  turnLimit: SpendingLimit
  /** For all turns of the session, by its persona. */
  personaLimit: SpendingLimit
}

export interface LimitsOptions {
  budget: TurnBudget
  /** What a person set for the session, as it is now. It wins over what its persona says. */
  sessionLimit: () => SpendingLimit
  project: BudgetLimit[]
}

/** Everything that limits what a turn may cost. */
export function limitsOfTurn({ budget, sessionLimit, project }: LimitsOptions): BudgetLimits {
  const { turnLimit, personaLimit } = budget
  const unlessSet = () => {
    const { usd, tokens, ms } = sessionLimit()
    return {
      ...(usd === undefined ? { usd: personaLimit.usd } : {}),
      ...(tokens === undefined ? { tokens: personaLimit.tokens } : {}),
      ...(ms === undefined ? { ms: personaLimit.ms } : {}),
    }
  }
  return new BudgetLimits([
    ...limits(
      'turn',
      () => turnLimit,
      () => NOTHING,
    ),
    ...limits('session', sessionLimit, () => budget.session),
    ...limits('persona', unlessSet, () => budget.session),
    ...project,
  ])
}

/** Throws when something is used up already: then no turn begins. */
export function requireBudget(limits: BudgetLimits): void {
  const usedUp = limits.usedUp()
  if (usedUp !== undefined) throw startError('budget', usedUpText(usedUp))
}

/** What was spent, of what, and what to do. */
export function usedUpText({ scope, unit, spent, most }: UsedUp): string {
  const text = TEXTS[unit]
  return `The budget of the ${scope} is used up: ${text(spent)} of ${text(most)}. ${REMEDY[scope]}`
}

const TEXTS: Record<BudgetUnit, (amount: number) => string> = {
  usd: usdText,
  tokens: tokensText,
  ms: formatDuration,
}

const REMEDY = {
  turn: 'Give the turn more.',
  session: 'Raise it in the dashboard or with "chirality budget set --session ID", or start another session.',
  persona:
    'Raise the budget of the session in the dashboard or with "chirality budget set --session ID", or that of the persona with "chirality budget set --persona ID".',
  project: 'Raise it in the dashboard or with "chirality budget set".',
}
