import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, realpath, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { HarnessTurnOpts, Session, SessionHarness, UIEvent } from '@chirality/core'
import {
  findByMarker,
  type HarnessDescriptor,
  MARKER_VARIABLE,
  makeTempFolder,
  processEnv,
  sendSignal,
} from '@chirality/runner'
import {
  type RecordedRequest,
  type ScriptBlock,
  type ScriptedModel,
  startScriptedModel,
} from '@chirality/scripted-model'
import { commandTool, toolNames } from './offered-tools.ts'

export interface StageOptions {
  descriptor: HarnessDescriptor
  /** The agent's program. Default: the one found on `path`. */
  binaryPath?: string | undefined
  /** PATH in which programs are found. */
  path: string
  /** Ends everything that was started. */
  signal: AbortSignal
  /** Time limit of one turn. */
  limitMs: number
}

/** A trial's own model, project and HOME, with the agent between them. All of it is removed afterwards. */
export class Stage {
  readonly #options: StageOptions
  readonly #root: string
  readonly #marker = randomUUID()
  readonly model: ScriptedModel
  readonly #variables: Record<string, string>
  /** Events of all turns. */
  readonly shown: UIEvent[] = []
  /** Events that arrived while no turn ran. */
  readonly late: UIEvent[] = []
  /** Process of the last turn, if the agent has one. */
  #pid: number | undefined
  #harness: SessionHarness | undefined
  #asking: Record<string, unknown> | undefined

  private constructor(
    options: StageOptions,
    root: string,
    { model, variables }: { model: ScriptedModel; variables: Record<string, string> },
  ) {
    this.#options = options
    this.#root = root
    this.model = model
    this.#variables = variables
    this.#asking = options.descriptor.trial?.asking
  }

  static async set(options: StageOptions): Promise<Stage> {
    const { trial } = options.descriptor
    if (!trial) throw new Error(`${options.descriptor.meta.name} cannot be tried offline.`)
    // Swept by a later run if this one is killed.
    const root = await realpath(await makeTempFolder({}, options.descriptor.meta.id))
    let model: ScriptedModel | undefined
    try {
      const [home, project] = [path.join(root, 'home'), path.join(root, 'project')]
      await mkdir(path.join(home, 'tmp'), { recursive: true })
      await mkdir(project)
      // Requests beside the conversation, such as for titles, must not take its answers.
      const aside = { when: { withoutTools: true }, answers: [], otherwise: '{"title":"A trial"}' }
      model = await startScriptedModel({ answers: [], routes: [aside], otherwise: 'Nothing more to say.' })
      const { url, openaiUrl } = model
      const variables = await trial.prepare({ url, openaiUrl, home, project })
      return new Stage(options, root, { model, variables })
    } catch (error) {
      await model?.close()
      await rm(root, { recursive: true, force: true })
      throw error
    }
  }

  get project(): string {
    return path.join(this.#root, 'project')
  }

  get harness(): SessionHarness {
    if (!this.#harness) throw new Error('The stage has no agent.')
    return this.#harness
  }

  /** Makes a new harness, as after a restart. */
  async open({ keepAlive = true } = {}): Promise<SessionHarness> {
    await this.#harness?.close()
    const { descriptor, binaryPath, path: programs } = this.#options
    const home = path.join(this.#root, 'home')
    const temporary = path.join(home, 'tmp')
    this.#harness = await descriptor.create({
      keepAlive,
      dataFolder: path.join(this.#root, 'data'),
      ...(binaryPath === undefined ? {} : { binaryPath }),
      environment: {
        PATH: programs,
        HOME: home,
        TMPDIR: temporary,
        XDG_RUNTIME_DIR: temporary,
        LANG: 'C.UTF-8',
        ...this.#variables,
        // The caller's marker is kept, so that it finds these processes too.
        [MARKER_VARIABLE]: [processEnv()[MARKER_VARIABLE], this.#marker].filter(Boolean).join(':'),
      },
    })
    return this.#harness
  }

  session(): Session {
    const at = new Date().toISOString()
    return {
      id: randomUUID(),
      createdAt: at,
      updatedAt: at,
      projectRoot: this.project,
      persona: null,
      mode: 'direct',
      claudeSessionId: null,
    }
  }

  /** Starts a turn. It is stopped when it takes too long, which its events show. */
  begin(
    session: Session,
    message: string,
    opts: HarnessTurnOpts = {},
    onEvent: (event: UIEvent) => void = () => {},
  ): Promise<UIEvent[]> {
    const { signal, limitMs } = this.#options
    // Set in every turn, as in the dashboard: some releases keep the choice of the conversation's first turn.
    const decide = async () => ({ behavior: 'deny' as const })
    // A timer of our own: a timeout signal combined with others may be garbage-collected.
    const late = new AbortController()
    const over = new DOMException('The turn took too long.', 'TimeoutError')
    const limit = setTimeout(() => late.abort(over), limitMs)
    const turn = this.harness.startTurn(session, message, {
      permissionMode: 'default',
      ...(this.harness.capabilities().supportsDecisions ? { decide } : {}),
      env: this.#variables,
      signal: AbortSignal.any([signal, late.signal]),
      onProcess: ({ pid }) => {
        this.#pid = pid
      },
      onBetweenTurns: events => void this.late.push(...events),
      ...opts,
    })
    const reading = this.#read(turn, session, onEvent).finally(() => clearTimeout(limit))
    // The caller may await something else first.
    reading.catch(() => {})
    return reading
  }

  async #read(
    turn: AsyncGenerator<UIEvent>,
    session: Session,
    onEvent: (event: UIEvent) => void,
  ): Promise<UIEvent[]> {
    const events: UIEvent[] = []
    for await (const event of turn) {
      if (event.type === 'session:init') session.claudeSessionId = event.claudeSessionId
      onEvent(event)
      events.push(event)
      this.shown.push(event)
    }
    return events
  }

  /** True if the condition holds before the turn ends. */
  async before(turn: Promise<UIEvent[]>, condition: () => boolean): Promise<boolean> {
    let isOver = false
    const over = () => {
      isOver = true
    }
    turn.then(over, over)
    while (!condition()) {
      if (isOver) return false
      await pause(POLL_MS)
    }
    return true
  }

  /** True if the kept process of the last turn has ended. */
  isAgentGone(): boolean {
    return this.#pid !== undefined && !sendSignal(this.#pid, 0)
  }

  isStalled(): boolean {
    return this.model.requests.some(({ state }) => state === 'stalled')
  }

  /** Requests of the conversation, without those beside it. */
  get requests(): RecordedRequest[] {
    return this.model.requests.filter(({ served }) => served.startsWith('answers[') || served === 'otherwise')
  }

  lastRequest(): string {
    return JSON.stringify(this.requests.at(-1)?.body ?? null)
  }

  /** Writes a project file with a word that is unknown elsewhere. */
  async secret(): Promise<{ file: string; word: string }> {
    const [file, word] = ['word.txt', randomUUID()]
    await this.write(file, word)
    return { file, word }
  }

  write(name: string, text = ''): Promise<void> {
    return writeFile(path.join(this.project, name), text)
  }

  hasFile(name: string): boolean {
    return existsSync(path.join(this.project, name))
  }

  /** A block with which the model makes the agent run a command, or a sentence if the agent has no such tool. */
  command(shell: string): ScriptBlock | string {
    const body = this.requests.at(-1)?.body
    const tool = commandTool(body)
    if (tool) return tool.call(shell, this.#asking)
    return `It offers no tool that runs commands, but: ${toolNames(body).join(', ') || 'none'}.`
  }

  /**
   * Makes plain commands: some releases ask about these, and refuse a command that requests to be asked about. False if
   * commands were plain already.
   */
  askPlainly(): boolean {
    const had = this.#asking !== undefined
    this.#asking = undefined
    return had
  }

  /** Processes that still run from this stage. */
  leftovers() {
    return findByMarker(this.#marker)
  }

  /** Hides the folders of the trial, which appear in texts of the agent. */
  withoutPaths(text: string): string {
    return text.replaceAll(this.#root, '…')
  }

  async clear(): Promise<void> {
    try {
      this.model.release()
      await this.#harness?.close()
    } finally {
      await this.model.close()
      for (const { pid } of await this.leftovers()) sendSignal(pid, 'SIGKILL')
      await rm(this.#root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    }
  }
}

const POLL_MS = 20
