import type { PermissionMode, PermissionRequestEvent } from '@chirality/core'
import { hideEnvironment } from '@chirality/runner'
import {
  type AskContext,
  allowWorkspaceSetup,
  DecisionBroker,
  PolicyBook,
  type PolicyGuard,
  type PolicyJudge,
  type PolicyVerdict,
  SessionHost,
} from '@chirality/sessions'
import { UsageError } from '../exit-code.ts'
import { RunHarnesses } from '../harnesses.ts'
import type { Output } from '../output.ts'
import { spentElsewhere } from '../spent-elsewhere.ts'
import { type RunRequest, readRequest } from './run/request.ts'
import { showTurn } from './run/show-turn.ts'
import { startHere } from './run/start-here.ts'

/** Runs one turn of a session, and shows it live from its log. */
export async function run(args: string[], output: Output): Promise<number> {
  hideEnvironment()
  let host: SessionHost | undefined
  const harnesses = await RunHarnesses.open(entry => host?.log(entry))
  const request = await readRequest(args, harnesses)
  const { machine } = request.session
  if (machine !== undefined) return runElsewhere(machine, request, output)
  const decisions = new DecisionBroker({ policies: new HeadlessJudge() })
  host = new SessionHost({ harnesses, address: 'chirality run', decisions, spentElsewhere })
  // Turns that another host left running are adopted here, and go on when this process exits.
  let agents: 'stop' | 'leave' = 'stop'
  try {
    if (request.trustProject) await trustFiles(host, request.session.projectRoot)
    if (request.allowSetup) await allowSetup(request.session.projectRoot)
    const { adopted } = await host.openProject(request.session.projectRoot)
    if (adopted.length > 0) agents = 'leave'
    return await showTurn(startHere(host, request), request, output)
  } catch (error) {
    const address = addressOfOwner(error)
    if (address === undefined) throw error
    return await runThere(address, request, output, error)
  } finally {
    await host.close({ agents })
  }
}

/** Stored in the user's data folder, so that it also applies in the server that owns the project. */
async function trustFiles({ trust }: SessionHost, projectRoot: string): Promise<void> {
  const { files, fingerprint } = await trust.state(projectRoot)
  if (files.length > 0) await trust.allow(projectRoot, fingerprint)
}

/** Also stored in the user's data folder. */
async function allowSetup(projectRoot: string): Promise<void> {
  const file = await allowWorkspaceSetup(projectRoot)
  if (file === undefined)
    throw new UsageError('This project has no .chirality/workspace.yaml. Leave --allow-setup out.')
}

/** Runs in the server that owns the project: two processes that write to it would lose each other's changes. */
async function runThere(
  address: string,
  request: RunRequest,
  output: Output,
  locked: unknown,
): Promise<number> {
  // Imported on demand: few turns need it.
  const { startThere } = await import('./run/start-there.ts')
  return showTurn(startThere(address, request, locked), request, output)
}

/** Runs on the machine that has the session, through the hub's server. */
async function runElsewhere(machine: string, request: RunRequest, output: Output): Promise<number> {
  // Imported on demand: few turns need it.
  const { startElsewhere } = await import('./run/start-there.ts')
  return showTurn(await startElsewhere(machine, request), request, output)
}

/** Recognised by its name, because this command is bundled separately. */
function addressOfOwner(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ProjectLockedError') return undefined
  return (error as { owner?: { address?: string } }).owner?.address
}

/** Applies written rules, and denies requests for which they would ask, because no one can answer. */
class HeadlessJudge implements PolicyJudge {
  readonly #book = new PolicyBook()

  async judge(context: AskContext, request: PermissionRequestEvent): Promise<PolicyVerdict> {
    const verdict = await this.#book.judge(context, request)
    return verdict.effect === 'ask' || context.personOnly ? { ...verdict, effect: 'deny' } : verdict
  }

  async guard(context: AskContext, mode: PermissionMode): Promise<PolicyGuard> {
    return { ...(await this.#book.guard(context, mode)), protects: false }
  }
}
