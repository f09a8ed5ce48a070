import type { HarnessInstallStatus } from '@chirality/core'
import { agentEnvironment } from '../agent-environment.ts'
import { EXIT, type ExitCode } from '../exit-code.ts'
import { readOptions } from '../options.ts'
import type { Output } from '../output.ts'
import { plain } from '../render/plain.ts'
import { type Style, style, wantsColour } from '../render/style.ts'
import { UsageError } from '../usage-error.ts'
import type { Check } from './doctor/check.ts'
import { checkAgent } from './doctor/check-agent.ts'
import { checkEnvironment } from './doctor/check-environment.ts'
import { checkProject } from './doctor/check-project.ts'
import { serverEnvironment } from './serve/server-environment.ts'
import { serverHarnesses } from './serve/server-harnesses.ts'

/** Looks at everything a first turn needs. Spends no tokens. 0 if at least one agent can be tried. */
export async function doctor(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    json: { type: 'boolean' },
  })
  if (positionals.length > 0) throw new UsageError(`doctor takes no argument, not "${positionals[0]}".`)
  const node = checkNode(process.versions.node)
  const project = await checkProject(values.project)
  const cwd = project.ok ? project.detail : undefined
  // Those of the dashboard, so that both say the same.
  const environment = agentEnvironment(await serverEnvironment())
  const harnesses = serverHarnesses(() => {}, undefined, { environment })
  // One that fails to answer is reported like one that is missing, beside the others.
  const statuses = await harnesses.checkAllInstallStatus()
  const agents = await Promise.all(
    harnesses.getAll().map(harness => checkAgent(harness, statuses.get(harness.id) ?? UNKNOWN, cwd)),
  )
  const checks = [node, project, ...agents.flatMap(agent => agent.checks), checkEnvironment(environment)]
  const paint = style(wantsColour(output.isTerminal))
  for (const check of checks)
    await output.write(values.json ? `${JSON.stringify(check)}\n` : line(check, paint))
  if (!node.ok) return EXIT.failed
  const agentsCode = codeOfAgents(agents.flatMap(({ status, isProgram }) => (isProgram ? [status] : [])))
  return agentsCode === EXIT.done && !project.ok ? EXIT.usage : agentsCode
}

export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const ok = major > MIN_NODE.major || (major === MIN_NODE.major && minor >= MIN_NODE.minor)
  const fix = { fix: `Install Node ${MIN_NODE.major}.${MIN_NODE.minor} or later.` }
  return { check: 'node', ok, detail: version, ...(ok ? {} : fix) }
}

const UNKNOWN: HarnessInstallStatus = { installed: false, authType: 'none', authenticated: false }
const MIN_NODE = { major: 20, minor: 19 }

/** What needs no installing does not count: whoever has nothing else is told what to install. */
function codeOfAgents(found: readonly HarnessInstallStatus[]): ExitCode {
  const agents = found.filter(({ support }) => support !== 'too-old')
  if (agents.some(agent => agent.installed && agent.authenticated)) return EXIT.done
  return agents.some(agent => agent.installed) ? EXIT.notLoggedIn : EXIT.notInstalled
}

function line({ check, ok, detail, fix }: Check, paint: Style): string {
  const mark = ok ? paint.green('✓') : paint.red('✗')
  const hint = fix ? `  ${' '.repeat(NAME_WIDTH)} ${paint.dim(plain(fix))}\n` : ''
  return `${mark} ${check.padEnd(NAME_WIDTH)} ${plain(detail)}\n${hint}`
}

const NAME_WIDTH = 'claude-code commands'.length
