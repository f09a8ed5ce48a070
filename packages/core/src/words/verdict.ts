import { needsYouText } from '../money/amounts.ts'

/** What is known of a task of a loop that is over, in one word. */
export type VerdictWord = 'proved' | 'look' | 'no-check' | 'not-proved' | 'parked'

/** On every screen. */
export const VERDICT_WORDS: Record<VerdictWord, string> = {
  proved: 'proved',
  look: 'proved, look at this',
  'no-check': 'changed, no check',
  'not-proved': 'not proved',
  parked: 'parked',
}

/** How many tasks of a loop ended how. */
export interface VerdictCounts {
  proved: number
  look: number
  noCheck: number
  parked: number
  failed: number
}

/** As one line. What a person has to do something about is said where there is any, or always for a report. */
export function verdictsText(counts: VerdictCounts, isReport = false): string {
  const { proved, look, noCheck, parked, failed } = counts
  return [
    `${proved} ${VERDICT_WORDS.proved}`,
    ...(look > 0 ? [`${look} ${VERDICT_WORDS.look}`] : []),
    ...(noCheck > 0 ? [`${noCheck} ${VERDICT_WORDS['no-check']}`] : []),
    ...(parked > 0 || isReport ? [needsYouText(parked)] : []),
    ...(failed > 0 || isReport ? [`${failed} ${VERDICT_WORDS['not-proved']}`] : []),
  ].join(' · ')
}
