import { type PersonaEntry, PersonaManager } from '@chirality/personas'
import { EXIT } from '../../exit-code.ts'
import { readOptions } from '../../options.ts'
import { type Output, tell } from '../../output.ts'
import { projectFolder } from '../../project-folder.ts'
import { plain } from '../../render/plain.ts'
import { type Style, style, wantsColour } from '../../render/style.ts'
import { noArgument } from '../actions.ts'

/** All of them by id, also those that cannot be used, with what is wrong and where. */
export async function listPersonas(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    json: { type: 'boolean' },
  })
  noArgument(positionals)
  const project = await projectFolder(values.project)
  const entries = await new PersonaManager().listAll(project)
  const paint = style(wantsColour(output.isTerminal))
  await output.write(
    entries.map(entry => (values.json ? `${JSON.stringify(entry)}\n` : lines(entry, paint))).join(''),
  )
  if (entries.length === 0 && !values.json)
    await tell(`chirality: No personas in ${project}. They are files agents/AGENT_<ID>.md.\n`)
  return EXIT.done
}

function lines(entry: PersonaEntry, paint: Style): string {
  if (entry.kind === 'broken') {
    const problems = entry.problems.map(
      ({ line, message }) =>
        `${paint.red('✗')} ${plain(entry.sourceFile)}${line === undefined ? '' : `:${line}`}: ${plain(message)}\n`,
    )
    return problems.join('')
  }
  const { persona, warnings } = entry
  const about = persona.description === undefined ? '' : `  ${plain(persona.description)}`
  const hints = warnings.map(({ line, message }) => {
    const place = `${persona.sourceFile}${line === undefined ? '' : `:${line}`}`
    return `  ${paint.yellow('!')} ${plain(place)}: ${plain(message)}\n`
  })
  return `${paint.bold(persona.id)}${about}\n${hints.join('')}`
}
