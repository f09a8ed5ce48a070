import type { MachineState } from '../claim/presence.ts'
import type { Machine } from '../machines.ts'

export interface PlacedWork {
  id: string
  /** All of them must be labels of the machine. */
  labels: readonly string[]
  /** The agent that does the work. */
  agent: string
  /** The common name of the project. */
  project: string
}

export interface MachineCandidate {
  machine: string
  state: MachineState
  labels: readonly string[]
  slots: number
  /** Number of running turns. */
  busy: number
  agents: readonly { id: string; installed: boolean; loggedIn: boolean }[]
  projects: readonly string[]
  /** Load per core; 1 is full load. */
  load: number
}

export type Placement = { machine: string; why: string } | { waits: true; why: string }

/**
 * Chooses the machine for a session or task. The first rule that no machine passes is the reason to wait. Among
 * several, the order is: smallest share of used slots, lowest load, then a hash of both names, so every hub decides
 * alike.
 */
export function place(work: PlacedWork, machines: readonly MachineCandidate[]): Placement {
  let left = machines
  for (const { fits, why } of RULES) {
    const next = left.filter(machine => fits(machine, work))
    if (next.length === 0) return { waits: true, why: why(work, left) }
    left = next
  }
  const [best] = [...left].sort(
    (a, b) =>
      share(a) - share(b) ||
      Math.round(a.load * 4) - Math.round(b.load * 4) ||
      rank(work.id, b.machine) - rank(work.id, a.machine) ||
      (a.machine < b.machine ? -1 : 1),
  )
  if (best === undefined) return { waits: true, why: 'waits: there is no machine' }
  const room = `${best.slots - best.busy} of ${best.slots} slots free`
  return {
    machine: best.machine,
    why:
      left.length === 1
        ? `the only machine that fits, ${room}`
        : `the smallest part of its slots is taken: ${room}`,
  }
}

/** A machine as a candidate for new work. */
export interface Offer {
  machine: string
  isThis: boolean
  /** Folder of the project there. Null if the machine lacks it. */
  project: string | null
  /** Why the machine does not fit. Null if it does. */
  problem: string | null
}

export interface MachineChoice {
  /** The chosen machine. Null while the work waits. */
  machine: string | null
  why: string
  offers: Offer[]
}

/** Places work of a project that is given by its folder, on `machine` if one is named. */
export function choose(
  work: { agent: string; project: string; labels: readonly string[]; machine?: string | undefined },
  machines: readonly Machine[],
): MachineChoice {
  const own = [...machines].sort((a, b) => Number(b.isThis) - Number(a.isThis))
  const named = work.machine === undefined ? own : own.filter(({ machine }) => machine === work.machine)
  const repositories = named.flatMap(one => one.repositories)
  const key = repositories.find(({ root }) => root === work.project)?.key ?? work.project
  const wanted = { id: `${work.agent} ${key}`, agent: work.agent, labels: work.labels, project: key }
  const candidates = machines.map(one => ({ ...one, projects: one.repositories.map(each => each.key) }))
  const placed = place(wanted, candidates)
  const offers = candidates.map((one): Offer => {
    const alone = place(wanted, [one])
    const project = one.repositories.find(each => each.key === key)?.root ?? null
    return {
      machine: one.machine,
      isThis: one.isThis,
      project,
      problem: 'machine' in alone ? null : alone.why,
    }
  })
  return { machine: 'machine' in placed ? placed.machine : null, why: placed.why, offers }
}

interface Rule {
  fits: (machine: MachineCandidate, work: PlacedWork) => boolean
  why: (work: PlacedWork, left: readonly MachineCandidate[]) => string
}

const RULES: readonly Rule[] = [
  { fits: ({ state }) => state === 'here', why: () => 'waits: no machine is connected' },
  {
    fits: ({ labels }, work) => work.labels.every(label => labels.includes(label)),
    why: ({ labels }) => `waits: no machine has the labels ${labels.join(', ')}`,
  },
  {
    fits: ({ agents }) => agents.length > 0,
    why: (_, left) => `waits: it is not known yet which agents are installed on ${namesOf(left)}`,
  },
  {
    fits: ({ agents }, work) => agents.some(({ id, installed }) => id === work.agent && installed),
    why: ({ agent }, left) => `waits: ${agent} is not installed on ${namesOf(left)}`,
  },
  {
    fits: ({ agents }, work) => agents.some(({ id, loggedIn }) => id === work.agent && loggedIn),
    why: ({ agent }, left) => `waits: ${agent} is not logged in on ${namesOf(left)}`,
  },
  {
    fits: ({ projects }, work) => projects.includes(work.project),
    why: ({ project }, left) => `waits: ${project} is not on ${namesOf(left)}`,
  },
  {
    fits: ({ busy, slots }) => busy < slots,
    why: (_, left) => `waits: no slot is free on ${namesOf(left)}`,
  },
]

function namesOf(machines: readonly MachineCandidate[]): string {
  return machines.map(({ machine }) => machine).join(', ')
}

function share({ busy, slots }: MachineCandidate): number {
  return busy / slots
}

/** Rendezvous hashing with FNV-1a: a machine that leaves moves only its own work. */
function rank(id: string, machine: string): number {
  let hash = 0x811c9dc5
  for (const char of `${machine}/${id}`) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0
  return hash
}
