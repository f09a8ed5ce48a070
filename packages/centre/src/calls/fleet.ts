import type { SessionStatus } from '@chirality/sessions'
import { z } from 'zod'
import { mutation, query, subscription, type Yielded } from '../call.ts'
import type { Centre } from '../centre.ts'
import { callError } from '../errors.ts'
import { type FleetService, remoteSessions, remoteStatus } from '../machines.ts'
import { StatusChanges } from '../sessions/status-changes.ts'
import * as agents from '../shapes/agents.ts'
import { fleetEvent } from '../shapes/sessions.ts'
import { bySession, machineName, newWork, nothing, sessionId } from '../shapes/values.ts'

const target = z.string().min(1).max(100).describe('The name of a machine.')
const byMachine = z.strictObject({ machine: machineName })

/** A change of what the lists show. First come all open sessions of registered projects. */
export type FleetEvent = z.infer<typeof fleetEvent>

/** The machines of the fleet, and sessions on their way between them. */
export const fleetCalls = {
  events: subscription({
    about:
      'The status of every session: all once, then the changes. Loops and schedules that change are told, too.',
    yields: fleetEvent,
    resumes: false,
    run: async function* (centre, _, { pace, signal }): AsyncGenerator<Yielded<FleetEvent>> {
      const changes = new StatusChanges(centre)
      const end = () => changes.close()
      signal?.addEventListener('abort', end)
      try {
        const own = (await changes.registered(centre.host.statuses())).shown
        yield { data: { type: 'snapshot', sessions: [...own, ...remoteStatuses(centre.machines)] } }
        // Also without any: the page cannot tell no loops from loops that are not known yet.
        yield { data: { type: 'loops', loops: await centre.loops.list() } }
        while (await changes.some()) {
          if (!(await pace.turn())) return
          yield* (await changesToTell(centre, changes)).map(data => ({ data }))
        }
      } finally {
        signal?.removeEventListener('abort', end)
        end()
      }
    },
  }),

  machines: query({
    about: 'Lists the machines of the fleet, this one included. None without a fleet.',
    output: z.array(agents.machine),
    run: ({ machines }) => machines?.machines() ?? [],
  }),

  info: query({
    about: 'Tells what this machine is in its fleet. Null without one.',
    output: agents.fleetInfo.nullable(),
    run: ({ machines }) => machines?.info() ?? null,
  }),

  invite: mutation({
    about: 'Makes a code with which one machine can join, once, within a day.',
    input: z.strictObject({ role: agents.machineRole }),
    output: agents.invitation,
    run: (centre, input) => requireFleet(centre).invite(input.role),
  }),

  revoke: mutation({
    about: 'Takes the rights of a machine away.',
    input: byMachine,
    output: nothing,
    run: (centre, input) => requireFleet(centre).revoke(input.machine),
  }),

  forget: mutation({
    about:
      'Removes a machine that does not come back, with its sessions, logs and copies, from the brokers and all hubs.',
    input: byMachine,
    output: agents.forgottenMachine,
    run: (centre, input) => requireFleet(centre).forget(input.machine),
  }),

  sendCopies: mutation({
    about: 'Sets whether hubs get copies of the sessions of this machine after each turn.',
    input: z.strictObject({ send: z.boolean() }),
    output: nothing,
    run: (centre, input) => requireFleet(centre).sendCopies(input.send),
  }),

  place: query({
    about: 'Tells where a new session of a project would run, and why. Null without a fleet.',
    input: newWork,
    output: agents.placement.nullable(),
    run: ({ machines }, { harness, project, labels = [], machine }) =>
      machines?.choose({ agent: harness, project, labels, machine }) ?? null,
  }),

  // A hub asks both machines.
  move: mutation({
    about: 'Moves a session to a machine that has a clone of its repository. Only a hub can.',
    input: z.strictObject({ sessionId, to: target }),
    output: agents.movedSession,
    where: 'mirror',
    run: (centre, input) => requireFleet(centre).move(input.sessionId, input.to),
  }),

  takeover: mutation({
    about: 'Lets another machine go on with a session whose machine is gone. Only a hub can.',
    input: z.strictObject({
      sessionId,
      to: target,
      goOn: z
        .boolean()
        .optional()
        .describe('Whether the agent is asked to go on. Default: if a turn of it was at work.'),
    }),
    output: agents.takenOverSession,
    where: 'mirror',
    run: (centre, { sessionId: id, to, goOn }) => requireFleet(centre).takeover(id, to, goOn),
  }),

  keep: mutation({
    about: 'Gives up a move whose target does not come back. Only a hub can.',
    input: bySession,
    output: agents.keptSession,
    where: 'mirror',
    run: (centre, input) => requireFleet(centre).keep(input.sessionId),
  }),
}

/** The events of one round: what changed since the last one. */
async function changesToTell({ loops }: Centre, changes: StatusChanges): Promise<FleetEvent[]> {
  const events: FleetEvent[] = []
  const { sessions, removed, loops: changed, schedules } = changes.take()
  if (sessions.length > 0 || removed.length > 0) {
    const { shown, hidden } = await changes.registered(sessions)
    const gone = changes.untold([...removed, ...hidden])
    if (shown.length + gone.length > 0) events.push({ type: 'changes', sessions: shown, removed: gone })
  }
  if (changed.length > 0) {
    // A project that was removed in the meantime has none.
    const summaries = await Promise.all(changed.map(id => loops.summary(id).catch(() => undefined)))
    events.push({ type: 'loops', loops: summaries.flatMap(summary => summary ?? []) })
  }
  if (schedules) events.push({ type: 'schedules' })
  return events
}

function requireFleet({ machines }: Centre): FleetService {
  if (machines !== undefined) return machines
  throw callError('unsupported', 'This server is in no fleet. Start it with --fleet: docs/fleet.md.')
}

function remoteStatuses(machines: FleetService | undefined): SessionStatus[] {
  if (machines === undefined) return []
  return remoteSessions(machines).flatMap(one => (one.status ? [remoteStatus(machines, one)] : []))
}
