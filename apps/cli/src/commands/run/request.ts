import { randomUUID } from 'node:crypto'
import type { HarnessTurnOpts, PermissionMode, Session } from '@chirality/core'
import { SESSION_MODES } from '@chirality/core'
import type { HarnessRegistry } from '@chirality/runner'
import { type CommandHarness, DEFAULT_HARNESS, HARNESS_IDS } from '../../harnesses.ts'
import { oneOf, readOptions, wholeNumber } from '../../options.ts'
import { projectFolder } from '../../project-folder.ts'
import { UsageError } from '../../usage-error.ts'
import { readPrompt } from './prompt.ts'
import { refuseUnsupported } from './refuse-unsupported.ts'
import { splitTools } from './split-tools.ts'

export interface RunRequest {
  harness: CommandHarness
  session: Session
  prompt: string
  options: HarnessTurnOpts
  timeoutMs: number | undefined
  json: boolean
}

/** What to run, from the command line and stdin. Everything that can be wrong is checked before stdin is read. */
export async function readRequest(
  args: string[],
  harnesses: HarnessRegistry<CommandHarness>,
): Promise<RunRequest> {
  const { values, positionals } = readOptions(args, OPTIONS)
  const harness = harnesses.getOrThrow(oneOf('harness', values.harness, HARNESS_IDS) ?? DEFAULT_HARNESS)
  refuseUnsupported(harness, values)
  refusePersonas(values.persona, values.mode)
  const timeoutS = wholeNumber('timeout', values.timeout, { min: 1, max: MAX_TIMEOUT_S })
  const options: HarnessTurnOpts = {
    model: values.model,
    permissionMode: oneOf('permission-mode', values['permission-mode'], PERMISSION_MODES),
    tools: values.tools,
    autoApproveTools: values.allow === undefined ? undefined : splitTools(values.allow),
    maxTurns: wholeNumber('max-turns', values['max-turns'], { min: 1, max: MAX_TURNS }),
  }
  const session = newSession(sessionId(values.session), await projectFolder(values.project))
  return {
    harness,
    session,
    prompt: await readPrompt(positionals, process.stdin),
    options: { ...options, newSessionId: session.id },
    timeoutMs: timeoutS === undefined ? undefined : timeoutS * 1000,
    json: values.json ?? false,
  }
}

const OPTIONS = {
  project: { type: 'string' },
  harness: { type: 'string' },
  persona: { type: 'string' },
  mode: { type: 'string' },
  model: { type: 'string' },
  session: { type: 'string' },
  'permission-mode': { type: 'string' },
  tools: { type: 'string', mayBeEmpty: true },
  allow: { type: 'string', mayBeEmpty: true },
  'max-turns': { type: 'string' },
  timeout: { type: 'string' },
  json: { type: 'boolean' },
} as const

const PERMISSION_MODES: readonly PermissionMode[] = [
  'default',
  'acceptEdits',
  'dontAsk',
  'plan',
  'bypassPermissions',
]
/** A timer that is set further ahead fires at once. */
const MAX_TIMEOUT_S = 2_147_483
const MAX_TURNS = 1_000_000
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Taken without effect, either would run an agent that is less bound than its user believes. */
function refusePersonas(persona: string | undefined, mode: string | undefined): void {
  if (persona !== undefined) {
    throw new UsageError('--persona does not work yet: this version has no personas. Leave it out.')
  }
  if ((oneOf('mode', mode, SESSION_MODES) ?? 'direct') !== 'direct') {
    throw new UsageError(`--mode ${mode} does not work yet: it needs personas. Use --mode direct.`)
  }
}

function sessionId(given: string | undefined): string | undefined {
  if (given === undefined || UUID.test(given)) return given?.toLowerCase()
  throw new UsageError(`--session must be the id of a session (a UUID), not "${given}".`)
}

/** Our id is also the one the agent is asked to use, so that --session finds the conversation again. */
function newSession(id: string | undefined, projectRoot: string): Session {
  const now = new Date().toISOString()
  return {
    id: id ?? randomUUID(),
    createdAt: now,
    updatedAt: now,
    projectRoot,
    persona: null,
    mode: 'direct',
    claudeSessionId: id ?? null,
  }
}
