import {
  type PermissionRequestEvent,
  runTurn,
  type TakeBatch,
  type TurnEndReason,
  type TurnEvents,
  type UIEvent,
} from '@chirality/core'
import { type CommandResult, endMarked, runCommand } from '@chirality/runner'
import {
  type Filled,
  fillVariables,
  fillWorktree,
  readWorkspaceFile,
  type SetupRecord,
  setupMarker,
  WORKSPACE_FILE,
  type WorkspaceFile,
  type WorkspaceSetup,
} from '@chirality/workspaces'
import type { AskContext } from '../decisions/ask-context.ts'
import { notice, told, turnEnd } from '../log/turn-events.ts'
import type { SessionView } from '../status/session-view.ts'
import { TrustStore, type TrustStoreOptions } from '../trust/trust-store.ts'
import type { ProjectContext } from './host-context.ts'

/** Of the project's file, with its text, which a person has to allow; or of the user's settings. */
type SetupSource = Pick<WorkspaceFile, 'hash' | 'setup'> & { text?: string }

/** For `TrustStore`: the set-up files of a project that the user allowed, by their text. */
export const SETUP_KIND = 'workspace-setup'

export interface SetUpOptions {
  project: ProjectContext
  view: SessionView
  /** Who asks, for the card. */
  context: AskContext
  /** False where nobody is there to answer. */
  mayAsk: boolean
  /** Stops the turn. */
  signal: AbortSignal
}

/**
 * The set-up of a session's worktree, as the beginning of the first turn in it. What the user's settings for the project say
 * is done; without them, what the project's file asks for is shown to the user, and done if it is allowed. The output is in
 * the session.
 */
export class WorktreeSetUp {
  /** For the agent, now and in later turns. */
  variables: Record<string, string> = {}
  readonly #options: SetUpOptions
  readonly #place: { id: string; folder: string }
  readonly #source: SetupSource
  readonly #stop = new AbortController()
  #ended: Promise<unknown> = Promise.resolve()

  private constructor(options: SetUpOptions, place: { id: string; folder: string }, source: SetupSource) {
    this.#options = options
    this.#place = place
    this.#source = source
  }

  /** What a turn needs of it: the work, or only the variables if it was done before. */
  static async of(
    options: SetUpOptions,
  ): Promise<{ setUp?: WorktreeSetUp; variables: Record<string, string> }> {
    const { project, view } = options
    const { id, folder } = view.worktree ?? {}
    if (id === undefined || folder == null) return { variables: {} }
    const worktree = await project.worktrees.find(id)
    const known = worktree?.setup
    if (known !== undefined && known.state !== 'running' && known.state !== 'skipped')
      return { variables: known.variables }
    const { projectRoot, ownSetups } = project
    const source = ownSetups.get(projectRoot) ?? (await readWorkspaceFile(projectRoot))
    if (source === undefined) {
      // A set-up that comes later is for new worktrees: in this one an agent is at work from now on. The turn does not need it.
      if (worktree !== undefined)
        await project.worktrees.noteSetup(id, { hash: '', state: 'done', variables: {} }).catch(() => {})
      return { variables: {} }
    }
    // One that was not finished is done again, whatever its text.
    if (known?.state === 'skipped' && known.hash === source.hash) return { variables: {} }
    return { setUp: new WorktreeSetUp(options, { id, folder }, source), variables: {} }
  }

  /** Runs a turn whose agent is asked after the set-up. `onAsked` is called when the agent has its message. */
  async before(
    { take, start }: { take: TakeBatch; start: TurnStart },
    agent: (variables: Record<string, string>) => TurnEvents,
    onAsked: () => Promise<void>,
  ): Promise<void> {
    await take([{ type: 'turn:start', sessionId: this.#sessionId, ...start }])
    const { signal } = this.#options
    const onAbort = () => this.#stop.abort()
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    try {
      await this.#work(take)
    } catch (error) {
      // The next turn begins it anew.
      await this.#note(undefined).catch(() => {})
      if (!this.#stop.signal.aborted)
        await take([
          this.#notice(`The worktree is not set up: ${error instanceof Error ? error.message : error}`),
        ])
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
    if (this.#stop.signal.aborted) {
      await take([turnEnd(this.#sessionId, endOf(signal))])
      return
    }
    let isAsked = false
    await runTurn(agent(this.variables), batch => {
      if (isAsked) return take(batch)
      isAsked = true
      return onAsked().then(() => take(batch))
    })
  }

  /** Ends the command and what it started. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#ended
  }

  async #work(take: TakeBatch): Promise<void> {
    const { setup, hash } = this.#source
    if ('problem' in setup) {
      await this.#note({ hash, state: 'skipped', variables: {} })
      await take([this.#notice(`The worktree is not set up. ${setup.problem}`)])
      return
    }
    if (!(await this.#allowed(setup, take))) return
    const { id, folder } = this.#place
    const { projectRoot, worktrees } = this.#options.project
    const variables = await fillVariables(setup.variables, { id, taken: await worktrees.takenValues(id) })
    await this.#note({ hash, state: 'running', variables })
    const filled = await fillWorktree(setup, { projectRoot, folder, signal: this.#stop.signal })
    await take([
      told(this.#sessionId, doneText(filled, variables)),
      ...filled.problems.map(text => this.#notice(text)),
    ])
    this.variables = variables
    const { command, minutes } = setup
    const isDone = command === undefined || (await this.#run(command, minutes * 60_000, take))
    if (this.#stop.signal.aborted) await this.#note(undefined)
    else await this.#note({ hash, state: isDone ? 'done' : 'failed', variables })
  }

  /** Only a person can allow a project's file, and only this text: no rule and no mode answers. */
  async #allowed(setup: WorkspaceSetup, take: TakeBatch): Promise<boolean> {
    const { project, context } = this.#options
    const { hash, text } = this.#source
    if (text === undefined || project.allowedSetups.isTrusted(project.projectRoot, SETUP_KIND, hash))
      return true
    if (!this.#options.mayAsk) {
      await take([
        this.#notice(
          `The worktree is not set up: ${WORKSPACE_FILE} of this project has to be allowed first.`,
        ),
      ])
      return false
    }
    const request: PermissionRequestEvent = {
      type: 'permission:request',
      sessionId: this.#sessionId,
      requestId: `setup-${hash.slice(0, 12)}`,
      kind: 'tool',
      toolName: 'WorkspaceSetup',
      raw: null,
      input: {
        ...(setup.command === undefined ? {} : { command: setup.command }),
        file: WORKSPACE_FILE,
        text,
      },
      reason: `${WORKSPACE_FILE} of this project wants to set up the new worktree. It runs on your machine, and is not asked about again until its text changes.`,
    }
    await take([request])
    const decision = await project.decider({ ...context, personOnly: true })(request, this.#stop.signal)
    const isAllowed = decision.behavior === 'allow' && decision.by === 'person'
    if (isAllowed) await project.allowedSetups.trust(project.projectRoot, SETUP_KIND, hash)
    else if (decision.by === 'person') await this.#note({ hash, state: 'skipped', variables: {} })
    if (this.#stop.signal.aborted) return false
    const { requestId, sessionId } = request
    const by = decision.by ?? 'failure'
    const outcome = isAllowed ? 'allowed' : 'denied'
    await take([{ type: 'permission:resolved', sessionId, requestId, by, outcome }])
    if (!isAllowed) await take([this.#notice('The worktree is not set up: nobody allowed it.')])
    return isAllowed
  }

  async #run(command: string, timeoutMs: number, take: TakeBatch): Promise<boolean> {
    const { id, folder } = this.#place
    const toolUseId = `setup-${this.#source.hash.slice(0, 12)}`
    const facts = { kind: 'execute', label: 'Set-up', object: command, command } as const
    const sessionId = this.#sessionId
    await take([
      { type: 'tool:start', sessionId, toolUseId, name: 'WorkspaceSetup', input: { command }, facts },
    ])
    const marker = setupMarker(id)
    await endMarked(marker)
    const running = runCommand(command, {
      cwd: folder,
      timeoutMs,
      marker,
      signal: this.#stop.signal,
      env: this.variables,
    })
    this.#ended = running.catch(() => {})
    const result = await running
    const isDone = result.exitCode === 0
    await take([{ type: 'tool:result', sessionId, toolUseId, content: outputOf(result), isError: !isDone }])
    return isDone
  }

  get #sessionId(): string {
    return this.#options.view.session.id
  }

  #notice(text: string): UIEvent {
    return notice(this.#sessionId, text)
  }

  #note(setup: SetupRecord | undefined): Promise<void> {
    return this.#options.project.worktrees.noteSetup(this.#place.id, setup)
  }
}

/** Allows the set-up file as it is now. Resolves with it; undefined if there is none. */
export async function allowWorkspaceSetup(
  projectRoot: string,
  options: TrustStoreOptions = {},
): Promise<WorkspaceFile | undefined> {
  const file = await readWorkspaceFile(projectRoot)
  if (file !== undefined) await new TrustStore(options).trust(projectRoot, SETUP_KIND, file.hash)
  return file
}

export interface TurnStart {
  message: string
  attachments?: number
}

function endOf({ aborted, reason }: AbortSignal): TurnEndReason {
  return aborted && reason instanceof Error && reason.name === 'TimeoutError' ? 'timeout' : 'interrupted'
}

function outputOf({ output, exitCode, stopped, leftBehind }: CommandResult): string {
  const end = stopped === undefined ? (exitCode === 0 ? '' : `exits with ${exitCode}`) : `It ${stopped}.`
  const left = leftBehind > 0 ? `${leftBehind} processes that it left running were ended.` : ''
  return [output.trimEnd(), end, left].filter(Boolean).join('\n')
}

function doneText({ copied, shared, cloned }: Filled, variables: Record<string, string>): string {
  const values = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  const parts = [
    copied.length > 0 ? `copied ${copied.join(', ')}` : '',
    shared.length > 0 ? `shares ${shared.join(', ')} with the project` : '',
    cloned.length > 0 ? `cloned ${cloned.join(', ')}` : '',
    values.length > 0 ? values.join(', ') : '',
  ].filter(Boolean)
  return `The worktree is set up${parts.length > 0 ? `: ${parts.join('; ')}` : ''}.`
}
