import { PersonaManager } from '@chirality/personas'
import { PolicyBook } from '@chirality/sessions'
import { didYouMean } from '../did-you-mean.ts'
import { readOptions } from '../options.ts'
import type { Output } from '../output.ts'
import { projectFolder } from '../project-folder.ts'
import { UsageError } from '../usage-error.ts'
import { checkPolicy } from './policy/check.ts'
import { readDraft } from './policy/draft.ts'
import { rehearse } from './policy/rehearse.ts'
import { showPolicy } from './policy/show.ts'

export interface PolicyRequest {
  project: string
  /** A file in the place of the user's policy for the project. */
  draft: string | undefined
  policies: PolicyBook
  personas: PersonaManager
  json: boolean
  output: Output
}

/** The rules that answer agents: what they are, whether they can be read, what they would have changed. Writes nothing. */
export async function policy(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    policy: { type: 'string' },
    json: { type: 'boolean' },
  })
  const [action, ...more] = positionals
  if (more.length > 0) throw new UsageError(`Unexpected argument "${more[0]}".`)
  const run = ACTIONS.find(([name]) => name === action)?.[1]
  if (run === undefined) throw unknownAction(action)
  const personas = new PersonaManager()
  const request: PolicyRequest = {
    project: await projectFolder(values.project),
    draft: await readDraft(values.policy),
    policies: new PolicyBook({ personas }),
    personas,
    json: values.json ?? false,
    output,
  }
  return run(request)
}

const ACTIONS: readonly (readonly [string, (request: PolicyRequest) => Promise<number>])[] = [
  ['check', checkPolicy],
  ['show', showPolicy],
  ['rehearse', rehearse],
]

function unknownAction(action: string | undefined): UsageError {
  const names = ACTIONS.map(([name]) => name)
  if (action === undefined)
    return new UsageError('Say what to do: policy check, policy show or policy rehearse.')
  const near = didYouMean(action, names)
  return new UsageError(
    `policy knows check, show and rehearse, not "${action}".${near ? ` Did you mean ${near}?` : ''}`,
  )
}
