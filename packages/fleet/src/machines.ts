import { availableParallelism, loadavg } from 'node:os'
import type { SessionHost } from '@chirality/sessions'
import { z } from 'zod'
import { type MachineState, stateOf } from './claim/presence.ts'
import type { RemoteCall } from './rpc/calls.ts'
import { isMachineName } from './subjects.ts'

/** What a machine says of itself with each beat. */
const beat = z.object({
  role: z.enum(['worker', 'hub']),
  version: z.string().max(100),
  labels: z.array(z.string().max(100)).max(100),
  slots: z.number().int().min(0).max(10_000),
  busy: z.number().int().min(0),
  load: z.number().min(0),
  agents: z
    .array(
      z.object({
        id: z.string().max(100),
        name: z.string().max(200),
        installed: z.boolean(),
        loggedIn: z.boolean(),
        version: z.string().max(100).nullable(),
      }),
    )
    .max(100),
  projects: z.array(z.string().max(4096)).max(10_000),
})

export type Beat = z.infer<typeof beat>

export interface Machine extends Beat {
  machine: string
  state: MachineState
  /** Whether it is the machine that answers. */
  isThis: boolean
}

/** What a machine brings into the fleet. */
export interface LocalMachine {
  host: SessionHost
  version: string
  agents: () => Promise<Beat['agents']>
  /** Answers a call of a hub as this machine's own server would. */
  answer: (call: RemoteCall) => Promise<unknown>
  onRemoved: (listener: (sessionId: string) => void) => () => void
  /** A session went to another machine: the pages of this one hear it. */
  left: (sessionId: string) => void
}

/** What this machine says of itself now. */
export function beatOf(
  { host, version }: LocalMachine,
  said: Pick<Beat, 'role' | 'agents'> & { labels?: readonly string[]; slots?: number },
): Beat {
  return {
    ...{ role: said.role, version, labels: [...(said.labels ?? [])], agents: said.agents },
    slots: said.slots ?? availableParallelism(),
    busy: host.statuses().filter(({ phase }) => phase !== 'idle').length,
    load: (loadavg()[0] ?? 0) / availableParallelism(),
    projects: host.projects(),
  }
}

/** The machines of a fleet, as one of them sees them. */
export class Machines {
  readonly #known = new Map<string, { beat: Beat; heardAt: number | undefined }>()
  readonly #own: string
  #connectedSince: number | undefined

  constructor(own: string) {
    this.#own = own
  }

  /** `isLive` is false for a beat that was stored before this machine listened: it may be old. */
  heard(machine: string, body: Uint8Array, isLive: boolean): void {
    const parsed = parseBeat(body)
    if (parsed === undefined || !isMachineName(machine)) return
    const heardAt = isLive ? performance.now() : this.#known.get(machine)?.heardAt
    this.#known.set(machine, { beat: parsed, heardAt })
  }

  /** It answered a question. */
  answered(machine: string): void {
    const known = this.#known.get(machine)
    if (known !== undefined) known.heardAt = performance.now()
  }

  connected(isConnected: boolean): void {
    this.#connectedSince = isConnected ? performance.now() : undefined
  }

  list(): Machine[] {
    const now = performance.now()
    const connectedSince = this.#connectedSince
    const machines = [...this.#known].map(([machine, { beat: said, heardAt }]): Machine => {
      const isThis = machine === this.#own
      return { machine, ...said, isThis, state: isThis ? 'here' : stateOf({ heardAt, connectedSince, now }) }
    })
    return machines.sort((a, b) => (a.machine < b.machine ? -1 : 1))
  }
}

function parseBeat(body: Uint8Array): Beat | undefined {
  try {
    return beat.parse(JSON.parse(Buffer.from(body).toString()))
  } catch {
    return undefined
  }
}
