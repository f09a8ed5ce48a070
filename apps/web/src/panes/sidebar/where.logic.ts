import type { Placement } from '../../state/server/answers.ts'

/** Slots and machines come and go while the dialog is open. */
export const PLACEMENT_MS = 5_000

export interface Where {
  value: string
  options: { value: string; label: string; detail?: string; disabled?: boolean }[]
  hint: string
  /** The machine and the folder there; undefined for this machine. */
  elsewhere?: { machine: string; project: string }
  /** The chosen machine cannot begin now. */
  waits: boolean
}

/** On which machine a new session runs. Without a choice it is this machine; undefined if there is no other. */
export function whereOf(placement: Placement | null | undefined, wanted = ''): Where | undefined {
  if (!placement || placement.offers.length < 2) return undefined
  const { offers, machine: best, why } = placement
  const isAny = wanted === ANY
  const chosen = isAny ? best : wanted
  const offer = offers.find(({ machine, isThis }) => (chosen === '' ? isThis : machine === chosen))
  const options = [
    { value: '', label: 'This machine' },
    {
      value: ANY,
      label: 'Where there is room',
      detail: best === null ? why : `${best}: ${why}`,
      ...(best === null ? { disabled: true } : {}),
    },
    ...offers.flatMap(({ machine, project, problem, isThis }) =>
      isThis
        ? []
        : [{ value: machine, label: machine, detail: problem ?? project ?? '', disabled: problem !== null }],
    ),
  ]
  const elsewhere =
    offer === undefined || offer.isThis || offer.project === null
      ? undefined
      : { machine: offer.machine, project: offer.project }
  const isHere = chosen === '' || offer?.isThis === true
  const waits = (isAny && best === null) || (!isHere && elsewhere === undefined)
  const hint = isAny ? (best === null ? why : `${best}: ${why}`) : (elsewhere?.project ?? '')
  return { value: wanted, options, hint, waits, ...(elsewhere ? { elsewhere } : {}) }
}

const ANY = '*'
