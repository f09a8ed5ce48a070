import { SESSION_MODES } from '@chirality/core'
import { MAX_PROMPT_TOKENS, type PersonaConfig, type PersonaEntry, PersonaManager } from '@chirality/personas'
import { consentNotice, PersonaConsent, TrustStore } from '@chirality/sessions'
import { EXIT, UsageError } from '../exit-code.ts'
import { chooseAction, noArgument, oneArgument, oneOf, projectFolder, readOptions } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { plain, type Style, style, wantsColour } from '../render/style.ts'
import { findPersona } from './personas/find-persona.ts'

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

/** Grants a persona the permissions of its current text. A changed text needs a new consent. */
async function allowPersona(args: string[], output: Output): Promise<number> {
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

async function revokePersona(args: string[], output: Output): Promise<number> {
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

/** A persona's permissions, and where they are written. */
async function showPersona(args: string[], output: Output): Promise<number> {
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

/** The exact system prompt; on stderr, its length and what was cut. */
async function promptPersona(args: string[], output: Output): Promise<number> {
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

/** All of them by id, invalid ones included, with the error and its position. */
async function listPersonas(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    json: { type: 'boolean' },
  })
  noArgument(positionals)
  const project = await projectFolder(values.project)
  const entries = await new PersonaManager().listAll(project)
  const paint = style(wantsColour(output.isTerminal))
  await output.write(
    entries.map(entry => (values.json ? `${JSON.stringify(entry)}\n` : entryLines(entry, paint))).join(''),
  )
  if (entries.length === 0 && !values.json)
    await tell(`chirality: No personas in ${project}. They are files agents/AGENT_<ID>.md.\n`)
  return EXIT.done
}

function entryLines(entry: PersonaEntry, paint: Style): string {
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
