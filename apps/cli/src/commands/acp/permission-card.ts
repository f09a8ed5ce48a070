import { factsOf, type PermissionDecision, type PermissionRequestEvent, type Question } from '@chirality/core'
import { asObject } from './editor-connection.ts'

type Ask = (options: object[], title?: string) => Promise<unknown>

/** What the user chose in the editor. Undefined if the request was dismissed. */
export async function answeredInEditor(
  request: PermissionRequestEvent,
  ask: Ask,
): Promise<PermissionDecision | undefined> {
  const { questions } = factsOf(request)
  if (request.kind === 'question' && questions !== undefined) return answers(request, questions, ask)
  const choices = request.kind === 'plan' ? PLAN : toolChoices(request)
  const chosen = chosenOf(await ask(choices.map(({ decision: _, ...option }) => option)))
  return chosen === undefined ? undefined : choices.find(({ optionId }) => optionId === chosen)?.decision
}

interface Choice {
  optionId: string
  name: string
  kind: 'allow_once' | 'allow_always' | 'reject_once'
  decision: PermissionDecision
}

const PLAN: Choice[] = [
  {
    ...{ optionId: 'allow', name: 'Approve the plan', kind: 'allow_once' },
    decision: { behavior: 'allow' },
  },
  {
    ...{ optionId: 'reject', name: 'Keep planning', kind: 'reject_once' },
    decision: { behavior: 'deny', message: 'The user does not agree yet. Ask what should change.' },
  },
]

function toolChoices({ always }: PermissionRequestEvent): Choice[] {
  return [
    { ...{ optionId: 'allow', name: 'Allow', kind: 'allow_once' }, decision: { behavior: 'allow' } },
    {
      ...{ optionId: 'session', name: 'Allow for this session', kind: 'allow_always' },
      decision: { behavior: 'allow', remember: 'session' },
    },
    ...(always === undefined
      ? []
      : [
          {
            ...{ optionId: 'always', name: `Always allow ${always.words}`, kind: 'allow_always' as const },
            decision: { behavior: 'allow' as const, remember: 'always' as const },
          },
        ]),
    { ...{ optionId: 'reject', name: 'Deny', kind: 'reject_once' }, decision: { behavior: 'deny' } },
  ]
}

/** One card for each question: the protocol has no other way to ask that every editor knows. */
async function answers(
  request: PermissionRequestEvent,
  questions: Question[],
  ask: Ask,
): Promise<PermissionDecision | undefined> {
  const given: Record<string, string> = {}
  for (const { name, options } of questions) {
    const choices = options.map(({ label }, i) => ({
      ...{ optionId: `answer-${i}`, name: label, kind: 'allow_once' },
    }))
    const skip = { optionId: 'reject', name: 'Do not answer', kind: 'reject_once' }
    const chosen = chosenOf(await ask([...choices, skip], name))
    if (chosen === undefined) return undefined
    const option = choices.find(({ optionId }) => optionId === chosen)
    if (option === undefined) return { behavior: 'deny', message: 'The user did not answer.' }
    given[name] = option.name
  }
  return { behavior: 'allow', updatedInput: { ...request.input, answers: given } }
}

/** Anything but a selection is a dismissal. */
export function chosenOf(answer: unknown): string | undefined {
  const { outcome, optionId } = asObject(asObject(answer).outcome)
  return outcome === 'selected' && typeof optionId === 'string' ? optionId : undefined
}
