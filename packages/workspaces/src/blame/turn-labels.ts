import type { ChainPoint } from './turn-chain.ts'

/** What was changed between a point and the one before it. */
export interface PointLabel {
  /** That ran then; none for a change between turns. */
  turns: string[]
  isSure: boolean
  since: number | null
  until: number | null
}

export interface Labels {
  ofCommit: Map<string, PointLabel>
  /** Of what changed since the last point. */
  now: PointLabel
}

/** Which turns ran between each two points of a chain. The first point has no label: what it has was there before. */
export function labelsOf(chain: readonly ChainPoint[], running: ReadonlySet<string>): Labels {
  const ends = new Set(chain.flatMap(({ turn, when }) => (when === 'after' ? [turn] : [])))
  const ofCommit = new Map<string, PointLabel>()
  const open = new Set<string>()
  /** Their end was not recorded, as after a crash: they count until the next point, and nobody is sure. */
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
