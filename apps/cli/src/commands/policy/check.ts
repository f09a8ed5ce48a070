import { ignoredRules, type PolicySource } from '@chirality/sessions'
import { EXIT } from '../../exit-code.ts'
import { plain, type Style, style, wantsColour } from '../../render/style.ts'
import { allSources, type PolicyRequest, SOURCE_NAMES } from './sources.ts'

/** Whether every applicable file is valid. Exits with 2 if one is not: every call asks then. */
export async function checkPolicy(request: PolicyRequest): Promise<number> {
  const { json, output } = request
  const paint = style(wantsColour(output.isTerminal))
  const sources = (await allSources(request)).filter(({ exists, problems }) => exists || problems.length > 0)
  for (const source of sources)
    await output.write(json ? `${JSON.stringify(checked(source))}\n` : verdictOf(source, paint))
  if (sources.length === 0 && !json)
    await output.write('No policy applies: agents ask about everything that they do not allow themselves.\n')
  const isBroken = sources.some(({ problems }) => problems.length > 0)
  if (isBroken && !json) await output.write('Until this is right, nothing is allowed by a rule.\n')
  return isBroken ? EXIT.usage : EXIT.done
}

function checked(source: PolicySource) {
  const { kind, file, rules, problems } = source
  const ok = problems.length === 0
  return { kind, file, ok, rules: rules.length, problems, warnings: ok ? warnings(source) : [] }
}

function warnings(source: PolicySource): { line: number; message: string }[] {
  return ignoredRules(source).map(({ line, text }) => ({
    line,
    message: `"${text}" does nothing here: only your own policy, outside of the project, can allow.`,
  }))
}

function verdictOf(source: PolicySource, paint: Style): string {
  const { kind, file, rules, problems } = source
  const isGood = problems.length === 0
  const mark = isGood ? paint.green('✓') : paint.red('✗')
  const count = `${rules.length} rule${rules.length === 1 ? '' : 's'}`
  const head = `${mark} ${plain(file)}  ${paint.dim(`${SOURCE_NAMES[kind]}, ${isGood ? count : 'not used'}`)}\n`
  const said = isGood ? warnings(source) : problems
  return (
    head + said.map(({ line, message }) => `    ${line > 0 ? `${line}: ` : ''}${plain(message)}\n`).join('')
  )
}

/** The rules in the order of evaluation, and their files, existing or not. */
export async function showPolicy(request: PolicyRequest): Promise<number> {
  const { json, output } = request
  const paint = style(wantsColour(output.isTerminal))
  for (const source of await allSources(request))
    await output.write(json ? `${JSON.stringify(source)}\n` : rulesOf(source, paint))
  return EXIT.done
}

function rulesOf(source: PolicySource, paint: Style): string {
  const { kind, file, exists, rules, problems } = source
  const state =
    problems.length > 0 ? ', has errors: see `chirality policy check`' : exists ? '' : ', not there'
  const ignored = new Set(ignoredRules(source))
  const lines = rules.map(
    rule =>
      `  ${String(rule.line).padStart(LINE_WIDTH)}  ${plain(rule.text)}${ignored.has(rule) ? paint.dim('  (does nothing here)') : ''}\n`,
  )
  return `${paint.bold(plain(file))}  ${paint.dim(`${SOURCE_NAMES[kind]}${state}`)}\n${lines.join('')}`
}

const LINE_WIDTH = 4
