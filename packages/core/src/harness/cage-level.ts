/**
 * `on` and `required` start the agent only in a cage that a probe could not leave. `required` also refuses a login that the
 * agent could read.
 */
export type CageLevel = (typeof CAGE_LEVELS)[number]

/** From the least to the most strict. */
export const CAGE_LEVELS = ['off', 'on', 'required'] as const

/** Whoever says the most decides. `off` where nobody says anything. */
export function strictestCage(...levels: readonly (CageLevel | undefined)[]): CageLevel {
  return levels.reduce<CageLevel>((strictest, level = 'off') => {
    return CAGE_LEVELS.indexOf(level) > CAGE_LEVELS.indexOf(strictest) ? level : strictest
  }, 'off')
}
