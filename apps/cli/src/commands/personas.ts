import { chooseAction } from '../options.ts'
import type { Output } from '../output.ts'
import { allowPersona, revokePersona } from './personas/allow.ts'
import { listPersonas, promptPersona, showPersona } from './personas/show.ts'

/** The personas of a project: the list, their permissions, their system prompt, and consent to them. */
export function personas(args: string[], output: Output): Promise<number> {
  const { run, rest } = chooseAction('personas', args, ACTIONS)
  return run(rest, output)
}

const ACTIONS = {
  list: listPersonas,
  show: showPersona,
  prompt: promptPersona,
  allow: allowPersona,
  revoke: revokePersona,
}
