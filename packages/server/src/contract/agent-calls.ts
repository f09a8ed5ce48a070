import { z } from 'zod'
import * as agents from './agent-answers.ts'
import * as values from './values.ts'

// The calls about the programs that do the work.

const nothing = z.void()

export const harnessCalls = {
  list: { output: z.array(agents.harnessInfo) },
  status: { output: z.record(z.string(), agents.installStatus) },
  trials: { output: agents.trials },
  tryOut: { input: z.strictObject({ harness: values.harnessId }), output: agents.trialReport },
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
