import { startError } from '../session-errors.ts'
import type { Spending } from './budget-book.ts'
import {
  AMOUNT_TEXTS,
  type BudgetLimit,
  BudgetLimits,
  limits,
  NO_SPENDING,
  type SpendingLimit,
  type UsedUp,
} from './budget-limits.ts'

/** The budgets of a turn at its start. */
export interface TurnBudget {
  /** The session's spending at that time; later spending outside its turns is added. */
  session: Spending
  turnLimit: SpendingLimit
  /** The persona's limit for all turns of the session. */
  personaLimit: SpendingLimit
}

export interface LimitsOptions {
  budget: TurnBudget
  /** The user's current limit for the session. It takes precedence over the persona's. */
  sessionLimit: () => SpendingLimit
  project: BudgetLimit[]
}

/** All budgets that limit a turn. */
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
      () => NO_SPENDING,
    ),
    ...limits('session', sessionLimit, () => budget.session),
    ...limits('persona', unlessSet, () => budget.session),
    ...project,
  ])
}

/** Throws when a budget is already used up, so that no turn starts. */
export function requireBudget(limits: BudgetLimits): void {
  const usedUp = limits.usedUp()
  if (usedUp !== undefined) throw startError('budget', usedUpText(usedUp))
}

/** The message for a used-up budget: the amounts, and what the user can do. */
export function usedUpText({ scope, unit, spent, most, note }: UsedUp): string {
  const text = AMOUNT_TEXTS[unit]
  const more = note === undefined ? '' : `${note} `
  return `The budget of the ${scope} is used up: ${text(spent)} of ${text(most)}. ${more}${REMEDY[scope]}`
}

const REMEDY = {
  turn: 'Give the turn more.',
  session: 'Raise it in the dashboard or with "chirality budget set --session ID", or start another session.',
  persona:
    'Raise the budget of the session in the dashboard or with "chirality budget set --session ID", or that of the persona with "chirality budget set --persona ID".',
  project: 'Raise it in the dashboard or with "chirality budget set".',
}
