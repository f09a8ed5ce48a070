import { BEHAVIOURS } from '@chirality/conformance'
import { z } from 'zod'
import { mutation, query } from '../call.ts'
import {
  harnessInfo,
  harnessModel,
  installStatus,
  slashCommand,
  trialReport,
  trials,
} from '../shapes/agents.ts'
import { harnessId, project } from '../shapes/values.ts'

const inProject = z.strictObject({ harness: harnessId, project })

export const harnessCalls = {
  list: query({
    about: 'Lists the agents that this server can run, with their models and abilities.',
    output: z.array(harnessInfo),
    run: ({ harnesses }) =>
      harnesses.getAll().map(harness => ({
        ...harness.meta(),
        models: harness.models(),
        capabilities: harness.capabilities(),
        usesProjectFiles: harness.projectFiles !== undefined,
      })),
  }),

  status: query({
    about: 'Tells of each agent whether it is installed and logged in.',
    output: z.record(z.string(), installStatus),
    run: async ({ harnesses }) => Object.fromEntries(await harnesses.checkAllInstallStatus()),
  }),

  trials: query({
    about: 'Gives what the last trial of each agent showed.',
    output: trials,
    run: async centre => ({
      running: centre.trials.running,
      reports: await centre.trials.results(),
      behaviours: BEHAVIOURS,
    }),
  }),

  tryOut: mutation({
    about:
      'Runs an agent through scripted conversations, without an account and without tokens. Takes up to two minutes.',
    input: z.strictObject({ harness: harnessId }),
    output: trialReport,
    run: (centre, input) => centre.trials.run(centre.harnesses.getOrThrow(input.harness).id),
  }),

  models: query({
    about: 'Lists the models that the installed agent itself offers, where it says.',
    input: inProject,
    output: z.array(harnessModel),
    run: async ({ harnesses, projects }, input, { signal }) => {
      const root = await projects.require(input.project)
      const harness = harnesses.getOrThrow(input.harness)
      return (await harness.discoverModels?.(root, signal)) ?? harness.models()
    },
  }),

  slashCommands: query({
    about: 'Lists the slash commands and skills that an agent offers in a project.',
    input: inProject,
    output: z.array(slashCommand),
    run: async ({ harnesses, host, projects }, input, { signal }) => {
      const root = await projects.require(input.project)
      const { isTrusted: trustProject } = await host.trust.state(root)
      return harnesses.getOrThrow(input.harness).discoverSlashCommands(root, signal, { trustProject })
    },
  }),
}
