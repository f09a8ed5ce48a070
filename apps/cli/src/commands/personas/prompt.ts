import { SESSION_MODES } from '@chirality/core'
import { MAX_PROMPT_TOKENS, PersonaManager } from '@chirality/personas'
import { EXIT } from '../../exit-code.ts'
import { oneOf, readOptions } from '../../options.ts'
import { type Output, tell } from '../../output.ts'
import { projectFolder } from '../../project-folder.ts'
import { oneArgument } from '../actions.ts'
import { findPersona } from './find-persona.ts'

/** What an agent is told, letter by letter; for people, how long it is and what was cut. */
export async function promptPersona(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    mode: { type: 'string' },
    json: { type: 'boolean' },
  })
  const id = oneArgument(positionals, 'the id of a persona')
  const mode = oneOf('mode', values.mode, SESSION_MODES) ?? 'direct'
  const project = await projectFolder(values.project)
  const personas = new PersonaManager()
  const prompt = await personas.composePrompt(project, await findPersona(personas, project, id), mode)
  if (values.json) {
    await output.write(`${JSON.stringify(prompt)}\n`)
    return EXIT.done
  }
  await output.write(prompt.text.endsWith('\n') ? prompt.text : `${prompt.text}\n`)
  const notes = [`About ${prompt.estimatedTokens} tokens of ${MAX_PROMPT_TOKENS}.`, ...prompt.warnings]
  for (const note of notes) await tell(`chirality: ${note}\n`)
  return EXIT.done
}
