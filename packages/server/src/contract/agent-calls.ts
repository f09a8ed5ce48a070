import { z } from 'zod'
import * as agents from './agent-answers.ts'
import { fleetEvent } from './answers.ts'
import * as values from './values.ts'

// The calls about the programs that do the work, and the machines that they run on.

const { sessionId, bySession } = values
const nothing = z.void()
const target = z.string().min(1).max(100).describe('The name of a machine.')

export const harnessCalls = {
  list: { output: z.array(agents.harnessInfo) },
  status: { output: z.record(z.string(), agents.installStatus) },
  trials: { output: agents.trials },
  tryOut: { input: z.strictObject({ harness: values.harnessId }), output: agents.trialReport },
  models: {
    input: z.strictObject({ harness: values.harnessId, project: values.project }),
    output: z.array(agents.harnessModel),
  },
  slashCommands: {
    input: z.strictObject({ harness: values.harnessId, project: values.project }),
    output: z.array(agents.slashCommand),
  },
}

export const ownAgentCalls = {
  list: { output: agents.ownAgents },
  add: { input: values.ownAgent, output: nothing },
  remove: { input: values.ownAgent.pick({ name: true }), output: nothing },
  test: {
    input: values.ownAgent.pick({ name: true }).extend({ fingerprint: z.string().max(200) }),
    output: agents.agentProbe,
  },
}

/** The machines of the fleet, and sessions on their way between them. */
export const fleetCalls = {
  events: { yields: fleetEvent },
  machines: { output: z.array(agents.machine) },
  info: { output: agents.fleetInfo.nullable() },
  invite: { input: z.strictObject({ role: agents.machineRole }), output: agents.invitation },
  revoke: { input: z.strictObject({ machine: values.machineName }), output: nothing },
  forget: { input: z.strictObject({ machine: values.machineName }), output: agents.forgottenMachine },
  sendCopies: { input: z.strictObject({ send: z.boolean() }), output: nothing },
  place: { input: values.newWork, output: agents.placement.nullable() },
  move: {
    input: z.strictObject({ sessionId, to: target }),
    output: agents.movedSession,
  },
  takeover: {
    input: z.strictObject({
      sessionId,
      to: target,
      goOn: z
        .boolean()
        .optional()
        .describe('Whether the agent is asked to go on. Default: if a turn of it was at work.'),
    }),
    output: agents.takenOverSession,
  },
  keep: { input: bySession, output: agents.keptSession },
}
