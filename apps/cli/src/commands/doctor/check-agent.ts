import { readResult, verdictOf } from '@chirality/conformance'
import {
  type CommandSandbox,
  type HarnessInstallStatus,
  type SessionHarness,
  type VersionSupport,
  versionNote,
} from '@chirality/core'
import { buildChildEnv } from '@chirality/runner'

export interface AgentReport {
  status: HarnessInstallStatus
  /** The agent needs a program that has to be installed. */
  isProgram: boolean
  checks: Check[]
}

export interface CheckContext {
  project: string | undefined
  dataFolder: string
  /** Of the user, before an agent's own part of it is chosen. */
  environment: Record<string, string>
}

/** Checks whether the agent is installed, has a credential, and which commands it offers. Spends no tokens. */
export async function checkAgent(
  harness: SessionHarness,
  status: HarnessInstallStatus,
  { project, dataFolder, environment }: CheckContext,
): Promise<AgentReport> {
  const isProgram = harness.meta().install !== undefined
  const checks = [await installed(harness, status, dataFolder), login(harness, status)]
  if (!status.installed) return { status, isProgram, checks }
  const offers = [models(harness), commands(harness, project), conversations(harness, project, status)]
  const confined = project === undefined ? undefined : harness.commandSandbox?.(project)
  if (confined) checks.push(sandbox(harness.id, confined))
  checks.push(...switchedOn(harness, environment))
  return { status, isProgram, checks: [...checks, ...(await Promise.all(offers))] }
}

async function installed(
  harness: SessionHarness,
  status: HarnessInstallStatus,
  dataFolder: string,
): Promise<Check> {
  const { id } = harness
  const { install, versions } = harness.meta()
  if (!status.installed)
    return { check: id, ok: false, detail: 'not installed', fix: status.authInstructions }
  const { version, path, support } = status
  if (install === undefined) return { check: id, ok: true, detail: 'part of Chirality, nothing to install' }
  // For a harness that runs another's program, the path does not show its own version.
  const place = runsAnother(harness) ? `, runs ${path}` : ` at ${path}`
  const note = versions && versionNote(support, versions)
  const found = version ?? 'version not known,'
  const detail = `${found}${path === undefined ? '' : place}${note ? `, ${note}` : ''}`
  if (support === 'too-old') return { check: id, ok: false, detail, fix: versions?.update, support }
  const line = { check: id, ok: true, detail, ...(support ? { support } : {}) }
  if (support === 'tested' || version === undefined) return line
  const report = await readResult(dataFolder, id, version)
  if (!report) return { ...line, fix: `Never tried here. Without tokens: chirality conformance ${id}` }
  return { ...line, detail: `${detail}, ${TRIED[verdictOf(report)]} when it was tried here` }
}

const TRIED = {
  works: 'worked',
  partly: 'worked with differences',
  fails: 'did not answer',
  refused: 'was refused',
}

function login({ id }: SessionHarness, status: HarnessInstallStatus): Check {
  const check = `${id} login`
  if (status.authType === 'unknown')
    return { check, ok: true, detail: 'not known: the agent tells only when a conversation is opened' }
  // A stored key may be invalid: only a turn shows that.
  if (status.authenticated)
    return { check, ok: true, detail: `has a credential (${status.authType}), not yet proven` }
  if (!status.installed) return { check, ok: false, detail: 'not known' }
  return { check, ok: false, detail: 'no credential', fix: status.authInstructions }
}

async function models(harness: SessionHarness): Promise<Check> {
  const names = harness.models().map(model => (model.isDefault ? `${model.id} (default)` : model.id))
  const detail = names.length === 0 ? 'not known: the agent names them in a conversation' : names.join(', ')
  return { check: `${harness.id} models`, ok: true, detail }
}

function commands(harness: SessionHarness, project: string | undefined): Promise<Check> {
  return offer(`${harness.id} commands`, project, async cwd => {
    if (runsAnother(harness)) return `those of ${harness.meta().nativeSessions}`
    const found = await harness.discoverSlashCommands(cwd)
    const names = found.slice(0, SHOWN_COMMANDS).map(command => `/${command.name}`)
    if (found.length > SHOWN_COMMANDS) names.push('…')
    return found.length === 0 ? 'none' : `${found.length}: ${names.join(' ')}`
  })
}

const SHOWN_COMMANDS = 6

function conversations(
  harness: SessionHarness,
  project: string | undefined,
  { authType }: HarnessInstallStatus,
): Promise<Check> {
  return offer(`${harness.id} sessions`, project, async cwd => {
    if (runsAnother(harness)) return `those of ${harness.meta().nativeSessions}`
    if (!harness.listNativeSessions) return 'only those of Chirality; see `chirality sessions list`'
    // Such an agent would have to be started.
    if (authType === 'unknown') return `see \`chirality sessions import --harness ${harness.id}\``
    const found = await harness.listNativeSessions({ cwd, limit: MAX_COUNTED })
    if (found.length === 0) return 'none in this project'
    const count = found.length < MAX_COUNTED ? `${found.length}` : `${MAX_COUNTED} or more`
    return `${count} in this project; see \`chirality sessions import\``
  })
}

const MAX_COUNTED = 100

/** The harness runs another harness's program. */
function runsAnother(harness: SessionHarness): boolean {
  const { id, nativeSessions } = harness.meta()
  return nativeSessions !== undefined && nativeSessions !== id
}

function sandbox(id: string, { name, problem }: CommandSandbox): Check {
  return { check: `${id} sandbox`, ok: problem === undefined, detail: problem ?? name }
}

/** The variables beyond its own that an agent gets because of another one, such as where its metrics go. Never their values. */
function switchedOn(harness: SessionHarness, environment: Record<string, string>): Check[] {
  const own = harness.meta().environment
  const { env } = buildChildEnv({ source: environment, own })
  return (own?.switched ?? []).flatMap(({ switchName, names }) => {
    const passed = names.filter(name => env[name] !== undefined)
    const detail = `${switchName} is on: it also gets ${passed.join(' ')}`
    return passed.length === 0 ? [] : [{ check: `${harness.id} environment`, ok: true, detail }]
  })
}

/** A turn needs nothing of this: an error is reported and ignored. */
async function offer(
  check: string,
  project: string | undefined,
  read: (cwd: string) => Promise<string>,
): Promise<Check> {
  if (project === undefined) return { check, ok: true, detail: 'not known without a project' }
  try {
    return { check, ok: true, detail: await read(project) }
  } catch (error) {
    return {
      check,
      ok: false,
      detail: `cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}

export interface Check {
  check: string
  ok: boolean
  detail: string
  /** The command or step that fixes it. */
  fix?: string
  /** The note about an agent's version. */
  support?: VersionSupport
}
