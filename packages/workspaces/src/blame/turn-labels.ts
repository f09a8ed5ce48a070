import type { ChainPoint } from './turn-chain.ts'

/** The change between a point and the previous one. */
export interface PointLabel {
  /** Turns that ran then; empty for a change between turns. */
  turns: string[]
  isSure: boolean
  since: number | null
  until: number | null
}

export interface Labels {
  ofCommit: Map<string, PointLabel>
  /** Label of changes since the last point. */
  now: PointLabel
}

/**
 * Finds the turns that ran between consecutive points of a chain. The first point has no label, because its content
 * existed before.
 */
export function labelsOf(chain: readonly ChainPoint[], running: ReadonlySet<string>): Labels {
  const ends = new Set(chain.flatMap(({ turn, when }) => (when === 'after' ? [turn] : [])))
  const ofCommit = new Map<string, PointLabel>()
  const open = new Set<string>()
  /** Turns without a recorded end, for example after a crash. They count until the next point, with `isSure` false. */
  const cut = new Set<string>()
  const label = (until: ChainPoint | undefined, since: ChainPoint | undefined): PointLabel => {
    return {
      turns: [...open, ...cut],
      isSure: cut.size === 0,
      since: since?.at ?? null,
      until: until?.at ?? null,
    }
  }
  let before: ChainPoint | undefined
  for (const point of chain) {
    if (before !== undefined && point.commit !== before.commit)
      ofCommit.set(point.commit, label(point, before))
    cut.clear()
    if (point.when === 'after') open.delete(point.turn)
    else if (ends.has(point.turn) || running.has(point.turn)) open.add(point.turn)
    else cut.add(point.turn)
    before = point
  }
  return { ofCommit, now: label(undefined, before) }
}
