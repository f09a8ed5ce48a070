import { z } from 'zod'
import { mutation, query } from '../call.ts'
import { callError } from '../errors.ts'
import { policySource } from '../shapes/agents.ts'
import { byProject, project } from '../shapes/values.ts'

const MAX_RULE_CHARS = 10_000

export const ruleCalls = {
  list: query({
    about:
      'Lists every file with rules for a project, in the order of evaluation. Rules of personas are listed with the personas.',
    input: byProject,
    output: z.array(policySource),
    run: async ({ host, projects }, input) => host.policies.sources(await projects.require(input.project)),
  }),

  remove: mutation({
    about:
      'Removes a rule of the user’s own files, by its line and text. Files of the project are not changed.',
    input: z.strictObject({
      project,
      scope: z.enum(['global', 'project']),
      line: z.int().positive(),
      text: z.string().min(1).max(MAX_RULE_CHARS),
    }),
    output: z.array(policySource),
    run: async ({ host, projects }, { project: folder, scope, line, text }) => {
      const root = await projects.require(folder)
      if (!(await host.policies.removeRule(root, scope, { line, text })))
        throw callError(
          'changed',
          'The file of this rule has changed since it was read. Look at the rules again.',
        )
      return host.policies.sources(root)
    },
  }),
}
