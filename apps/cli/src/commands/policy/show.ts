import { ignoredRules, type PolicySource } from '@chirality/sessions'
import { EXIT } from '../../exit-code.ts'
import { plain } from '../../render/plain.ts'
import { type Style, style, wantsColour } from '../../render/style.ts'
import type { PolicyRequest } from './policy-request.ts'
import { allSources, SOURCE_NAMES } from './sources.ts'

/** The rules in the order in which they are asked, and the files in which they are, or would be. */
export async function showPolicy(request: PolicyRequest): Promise<number> {
  const { json, output } = request
  const paint = style(wantsColour(output.isTerminal))
  for (const source of await allSources(request))
    await output.write(json ? `${JSON.stringify(source)}\n` : text(source, paint))
  return EXIT.done
}

function text(source: PolicySource, paint: Style): string {
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
