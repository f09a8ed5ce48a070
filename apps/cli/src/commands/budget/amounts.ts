import { UsageError } from '../../exit-code.ts'

export const AMOUNT_OPTIONS = {
  usd: { type: 'string' },
  tokens: { type: 'string' },
  minutes: { type: 'string' },
  turns: { type: 'string' },
} as const

/** Limits to set. null is no limit; undefined leaves a limit unchanged. */
export type Amounts = Partial<Record<keyof typeof AMOUNT_OPTIONS, number | null>>

export function readAmounts(given: Partial<Record<keyof Amounts, string>>): Amounts {
  const amounts: Amounts = {}
  for (const name of Object.keys(RANGES) as (keyof Amounts)[]) {
    const text = given[name]
    if (text === undefined) continue
    amounts[name] = text === 'none' ? null : readAmount(name, text, { ...RANGES[name], orNone: true })
  }
  return amounts
}

interface AmountRange {
  most: number
  whole: boolean
  what: string
  /** The caller handles the word for no limit. */
  orNone?: boolean
}

/** Throws for an invalid amount. A limit of 0 would stop everything, and is usually a mistake. */
export function readAmount(name: string, text: string, range: AmountRange): number {
  const { most, whole, what, orNone = false } = range
  const value = Number(text)
  const isAmount = whole ? /^\d+$/.test(text) : /^\d*\.?\d+$/.test(text)
  if (isAmount && value > 0 && value <= most) return value
  const amount = `${whole ? 'a whole number' : 'a number'} of ${what} above 0, at most ${most}`
  throw new UsageError(`--${name} must be ${amount}${orNone ? ', or none for no limit' : ''}; not "${text}".`)
}

export const RANGES = {
  usd: { most: 1_000_000, whole: false, what: 'dollars' },
  tokens: { most: Number.MAX_SAFE_INTEGER, whole: true, what: 'tokens' },
  minutes: { most: 525_600, whole: false, what: 'minutes' },
  turns: { most: 1_000_000, whole: true, what: 'turns' },
} as const
