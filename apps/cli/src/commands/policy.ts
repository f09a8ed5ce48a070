import { PersonaManager } from '@chirality/personas'
import { PolicyBook } from '@chirality/sessions'
import { chooseAction, noArgument, projectFolder, readOptions } from '../options.ts'
import type { Output } from '../output.ts'
import { checkPolicy, showPolicy } from './policy/check.ts'
import { rehearse } from './policy/rehearse.ts'
import { type PolicyRequest, readDraft } from './policy/sources.ts'

/** The rules that answer agents: their list, their errors, and what they would have changed. Writes nothing. */
export async function policy(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    policy: { type: 'string' },
    json: { type: 'boolean' },
  })
  const { run, rest } = chooseAction('policy', positionals, ACTIONS)
  noArgument(rest)
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

const ACTIONS = { check: checkPolicy, show: showPolicy, rehearse }
