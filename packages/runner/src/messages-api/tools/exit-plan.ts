import { type BuiltInTool, objectSchema } from './built-in-tool.ts'

/** Shows a plan to the person, who lets it be carried out or sends it back. The name is Claude Code's. */
export function exitPlanTool(onApproved: () => void): BuiltInTool {
  return {
    name: 'ExitPlanMode',
    effect: 'ask',
    description:
      'Shows your plan to the person when it is ready. You may carry it out only after they approve.',
    inputSchema: objectSchema({ plan: { type: 'string', minLength: 1, description: 'Markdown' } }, ['plan']),
    subject: () => undefined,
    async execute({ plan }) {
      onApproved()
      return `The plan is approved. Carry it out:\n\n${String(plan)}`
    },
  }
}
