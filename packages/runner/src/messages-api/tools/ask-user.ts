import { type BuiltInTool, objectSchema } from './built-in-tool.ts'

/** Asks the user. Name and input are those of Claude Code, so that every dashboard recognises a question. */
export function askUserTool(): BuiltInTool {
  return {
    name: 'AskUserQuestion',
    effect: 'ask',
    description:
      'Asks the person one to four questions with answers to choose from. Use it only when you cannot decide yourself.',
    inputSchema: {
      type: 'object',
      properties: { questions: { type: 'array', minItems: 1, maxItems: 4, items: QUESTION } },
      required: ['questions'],
    },
    subject: () => undefined,
    /** `input` holds the questions, and the answers by question text. */
    async execute({ answers }) {
      const given = typeof answers === 'object' && answers !== null ? Object.entries(answers) : []
      if (given.length === 0) return { content: 'The person gave no answer.', isError: true }
      return given.map(([question, answer]) => `${question}\n${wordsOf(answer)}`).join('\n\n')
    },
  }
}

const OPTION = {
  type: 'object',
  properties: { label: { type: 'string' }, description: { type: 'string' } },
  required: ['label'],
}

const QUESTION = {
  type: 'object',
  properties: {
    question: { type: 'string' },
    header: { type: 'string', description: 'A word or two' },
    multiSelect: { type: 'boolean' },
    options: { type: 'array', minItems: 2, maxItems: 6, items: OPTION },
  },
  required: ['question', 'options'],
}

function wordsOf(answer: unknown): string {
  return Array.isArray(answer) ? answer.map(String).join(', ') : String(answer)
}

/** Shows a plan to the user, who approves or rejects it. The name is Claude Code's. */
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
