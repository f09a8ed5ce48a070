import { access, constants, lstat, stat } from 'node:fs/promises'
import path from 'node:path'
import type { HarnessInstallStatus } from '@chirality/core'
import { ALLOW_VARIABLE, buildChildEnv } from '@chirality/runner'
import { userDataFolder } from '@chirality/sessions'
import { agentEnvironment, allowFile } from '../agent-environment.ts'
import { EXIT, type ExitCode, UsageError } from '../exit-code.ts'
import { HARNESS_WIDTH } from '../harnesses.ts'
import { readOptions } from '../options.ts'
import type { Output } from '../output.ts'
import { plain, type Style, style, wantsColour } from '../render/style.ts'
import { type Check, checkAgent } from './doctor/check-agent.ts'
import { checkCage } from './doctor/check-cage.ts'
import { checkFleet } from './doctor/check-fleet.ts'
import { serverEnvironment, serverHarnesses } from './serve/server-harnesses.ts'

/** Checks everything a first turn needs. Spends no tokens. Exits with 0 if at least one agent can be tried. */
export async function doctor(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    json: { type: 'boolean' },
  })
  if (positionals.length > 0) throw new UsageError(`doctor takes no argument, not "${positionals[0]}".`)
  const node = checkNode(process.versions.node)
  const project = await checkProject(values.project)
  const cwd = project.ok ? project.detail : undefined
  // The harnesses of the dashboard, so that both report the same.
  const environment = agentEnvironment(await serverEnvironment())
  const { harnesses } = await serverHarnesses(() => {}, undefined, { environment })
  // A harness that fails to answer is reported like a missing one, beside the others.
  const statuses = await harnesses.checkAllInstallStatus()
  const agents = await Promise.all(
    harnesses.getAll().map(harness =>
      checkAgent(harness, statuses.get(harness.id) ?? UNKNOWN, {
        project: cwd,
        dataFolder: userDataFolder(),
        environment,
      }),
    ),
  )
  const fleet = await checkFleet(userDataFolder())
  const checks = [
    ...[node, project, ...agents.flatMap(agent => agent.checks), checkEnvironment(environment)],
    await checkCage(cwd, environment),
    ...fleet,
  ]
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

/** An agent without an install does not count: a user without any other is told what to install. */
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

const NAME_WIDTH = HARNESS_WIDTH + ' commands'.length

/** The variables that every agent gets, and how to add one. */
function checkEnvironment(environment: Record<string, string>): Check {
  const { env } = buildChildEnv({ source: environment })
  const listed = new Set((environment[ALLOW_VARIABLE] ?? '').split(/[\s,]+/).filter(Boolean))
  const own = [...listed].filter(name => env[name] !== undefined)
  const unset = [...listed].filter(name => environment[name] === undefined)
  const refused = [...listed].filter(name => environment[name] !== undefined && env[name] === undefined)
  const count = Object.keys(environment).length
  const passed = Object.keys(env).filter(name => !listed.has(name) && name !== 'CHIRALITY_RUN')
  const detail = [
    `every agent gets ${passed.sort().join(' ') || 'nothing'}`,
    own.length > 0 && `and, as you said, ${own.join(' ')}`,
    unset.length > 0 && `(not set: ${unset.join(' ')})`,
    refused.length > 0 && `(never passed on: ${refused.join(' ')})`,
    `of ${count} variables`,
  ]
  return {
    check: 'environment',
    ok: refused.length === 0,
    detail: detail.filter(Boolean).join(' '),
    fix: `More: ${ALLOW_VARIABLE}=NAME,OTHER, or names in ${allowFile()}, one a line. An agent gets its own keys besides.`,
  }
}

/** Whether a turn can write its raw log there: without it no agent is started. */
async function checkProject(given: string | undefined): Promise<Check> {
  const folder = path.resolve(given ?? '.')
  const fault = await faultOf(folder)
  if (!fault) return { check: 'project', ok: true, detail: folder }
  return { check: 'project', ok: false, ...fault }
}

async function faultOf(folder: string): Promise<{ detail: string; fix: string } | null> {
  const info = await stat(folder).catch(() => null)
  if (!info) return { detail: `${folder} does not exist`, fix: OTHER }
  if (!info.isDirectory()) return { detail: `${folder} is not a folder`, fix: OTHER }
  const own = path.join(folder, '.chirality')
  const ownInfo = await lstat(own).catch(() => null)
  // A link could lead the log anywhere, so `run` refuses it too.
  if (ownInfo && !ownInfo.isDirectory()) return { detail: `${own} is not a folder`, fix: 'Move it away.' }
  const written = ownInfo ? own : folder
  const writable = await access(written, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  return writable ? null : { detail: `${written} is read-only`, fix: `Make it writable. ${OTHER}` }
}

const OTHER = 'Name another with --project.'
