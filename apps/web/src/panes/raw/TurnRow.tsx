import type { TurnState } from '@chirality/core'

/** A turn begins here. Its number is that of the other panes. */
export function TurnRow({ turnId, turns }: { turnId: string | null; turns: readonly TurnState[] }) {
  const index = turns.findIndex(({ id }) => id === turnId)
  const startedAt = turns[index]?.startedAt
  const name = index < 0 ? 'Outside of the turns' : `Turn ${index + 1}`
  return (
    <p className="raw__turn">
      {name}
      {startedAt ? <span className="number">{new Date(startedAt).toLocaleTimeString()}</span> : null}
    </p>
  )
}
