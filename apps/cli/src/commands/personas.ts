import type { Output } from '../output.ts'
import { chooseAction } from './actions.ts'
import { listPersonas } from './personas/list.ts'
import { promptPersona } from './personas/prompt.ts'
import { showPersona } from './personas/show.ts'

/** The personas of a project: which there are, what they may do, and what an agent is told. Writes nothing. */
export function personas(args: string[], output: Output): Promise<number> {
  const { run, rest } = chooseAction('personas', args, ACTIONS)
  return run(rest, output)
}

const ACTIONS = { list: listPersonas, show: showPersona, prompt: promptPersona }
