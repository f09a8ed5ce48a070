import { didYouMean } from './did-you-mean.ts'
import { FIELDS } from './fields.ts'

/** What to say about a key that a persona does not have. */
export function unknownKey(name: string): string {
  const shown = name.length > 60 ? `${name.slice(0, 60)}…` : name
  return `${JSON.stringify(shown)} is not a key of a persona.${hint(name)}`
}

function hint(name: string): string {
  // The nearest by spelling would be its very opposite, disallowed_tools.
  if (/^allowed[-_]?tools?$/i.test(name))
    return ' Use tools for what exists, auto_approve_tools for what runs without asking.'
  const keys = Object.keys(FIELDS)
  return didYouMean(name, keys) || ` The keys are ${keys.join(', ')}.`
}
