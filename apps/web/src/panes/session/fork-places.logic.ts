import type { Placement } from '../../state/server/answers.ts'

interface ForkPlace {
  value: string
  label: string
  detail?: string
  disabled?: boolean
}

/** The machines on which a fork can work. Undefined if there is only the one that has the session: `owner`, or this one. */
export function forkPlaces(
  placement: Placement | null | undefined,
  owner: string | undefined,
): ForkPlace[] | undefined {
  const offers = placement?.offers ?? []
  const isOwner = ({ machine, isThis }: (typeof offers)[number]) =>
    owner === undefined ? isThis : machine === owner
  const others = offers.filter(offer => !isOwner(offer))
  if (others.length === 0) return undefined
  return [
    { value: '', label: owner ?? 'This machine' },
    ...others.map(({ machine, project, problem, isThis }) => ({
      value: machine,
      label: isThis ? `${machine} (this machine)` : machine,
      detail: problem ?? project ?? '',
      disabled: problem !== null,
    })),
  ]
}
