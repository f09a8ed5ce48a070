import { type PersonaConfig, PersonaManager } from '@chirality/personas'
import { consentNotice, PersonaConsent, TrustStore } from '@chirality/sessions'
import { EXIT } from '../../exit-code.ts'
import { readOptions } from '../../options.ts'
import type { Output } from '../../output.ts'
import { projectFolder } from '../../project-folder.ts'
import { plain } from '../../render/plain.ts'
import { type Style, style, wantsColour } from '../../render/style.ts'
import { oneArgument } from '../actions.ts'
import { findPersona } from './find-persona.ts'

/** What a persona may do, and where it is written. */
export async function showPersona(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    json: { type: 'boolean' },
  })
  const id = oneArgument(positionals, 'the id of a persona')
  const project = await projectFolder(values.project)
  const personas = new PersonaManager()
  const persona = await findPersona(personas, project, id)
  const consent = await new PersonaConsent(personas, new TrustStore()).load(project, id)
  const paint = style(wantsColour(output.isTerminal))
  const { grants = [], isAllowed = true } = consent ?? {}
  if (values.json) await output.write(`${JSON.stringify({ ...persona, grants, isAllowed })}\n`)
  else
    await output.write(`${lines(persona, paint)}${isAllowed ? '' : `${consent && consentNotice(consent)}\n`}`)
  return EXIT.done
}

function lines({ id, ...rest }: PersonaConfig, paint: Style): string {
  const rows = Object.entries(rest).map(([name, value]) => {
    const text = Array.isArray(value) ? value.map(String).join(', ') || 'none' : textOf(value)
    return `${paint.dim(name.padEnd(NAME_WIDTH))} ${plain(text)}\n`
  })
  return `${paint.bold(id)}\n${rows.join('')}`
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const NAME_WIDTH = 'autoApproveTools'.length
