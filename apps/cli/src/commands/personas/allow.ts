import { PersonaManager } from '@chirality/personas'
import { PersonaConsent, TrustStore } from '@chirality/sessions'
import { EXIT, UsageError } from '../../exit-code.ts'
import { oneArgument, projectFolder, readOptions } from '../../options.ts'
import type { Output } from '../../output.ts'
import { plain } from '../../render/style.ts'
import { findPersona } from './find-persona.ts'

/** Grants a persona the permissions of its current text. A changed text needs a new consent. */
export async function allowPersona(args: string[], output: Output): Promise<number> {
  const { project, id, consent } = await choose(args)
  const shown = await consent.load(project, id)
  if (shown === null || shown.grants.length === 0)
    throw new UsageError(`${id} asks for no extra permission. There is nothing to allow.`)
  if (!(await consent.allow(project, id, shown.fingerprint)))
    throw new UsageError(`The file of ${id} changed just now. Look at it again, and repeat the command.`)
  const lines = shown.grants.map(grant => `  ${plain(grant)}\n`).join('')
  await output.write(`${id} may now do this without asking, until its file changes:\n${lines}`)
  return EXIT.done
}

export async function revokePersona(args: string[], output: Output): Promise<number> {
  const { project, id, consent } = await choose(args)
  await consent.revoke(project, id)
  await output.write(`${id} does nothing without asking any more.\n`)
  return EXIT.done
}

async function choose(args: string[]): Promise<{ project: string; id: string; consent: PersonaConsent }> {
  const { values, positionals } = readOptions(args, { project: { type: 'string' } })
  const id = oneArgument(positionals, 'the id of a persona')
  const project = await projectFolder(values.project)
  const personas = new PersonaManager()
  await findPersona(personas, project, id)
  return { project, id, consent: new PersonaConsent(personas, new TrustStore()) }
}
