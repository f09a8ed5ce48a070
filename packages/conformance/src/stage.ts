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
  /** The agent's program. Default: the one that is found on `path`. */
  binaryPath?: string | undefined
  /** Where programs are found: PATH. */
  path: string
  /** Ends everything. */
  signal: AbortSignal
  /** How long one turn may take. */
  limitMs: number
}

/** A model, a project and a HOME of the trial's own, and the agent between them. Nothing of it is left afterwards. */
export class Stage {
  readonly #options: StageOptions
  readonly #root: string
  readonly #marker = randomUUID()
  readonly model: ScriptedModel
  readonly #variables: Record<string, string>
  /** Everything that any turn showed. */
  readonly shown: UIEvent[] = []
  /** What the agent said while no turn ran. */
  readonly late: UIEvent[] = []
  /** The process of the last turn, if the agent has one. */
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
      // What agents ask beside the conversation, as titles, must not take its answers.
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

  /** A new harness, as after a restart. */
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
        // Whoever runs this finds its processes, too.
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

  /** Begins a turn. It is stopped when it takes too long; its events then say so. */
  begin(
    session: Session,
    message: string,
    opts: HarnessTurnOpts = {},
    onEvent: (event: UIEvent) => void = () => {},
  ): Promise<UIEvent[]> {
    const { signal, limitMs } = this.#options
    // In every turn, as in the dashboard: some releases keep what the first turn of a conversation said of asking.
    const decide = async () => ({ behavior: 'deny' as const })
    // Its timer holds it: a timeout that is one of several signals may be lost.
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
    // Whoever began it may wait for something else first.
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

  /** Whether the condition holds before the turn ends. */
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

  /** Whether the process of the last turn has ended, though it is one that is kept. */
  isAgentGone(): boolean {
    return this.#pid !== undefined && !sendSignal(this.#pid, 0)
  }

  isStalled(): boolean {
    return this.model.requests.some(({ state }) => state === 'stalled')
  }

  /** The requests of the conversation, not those beside it. */
  get requests(): RecordedRequest[] {
    return this.model.requests.filter(({ served }) => served.startsWith('answers[') || served === 'otherwise')
  }

  lastRequest(): string {
    return JSON.stringify(this.requests.at(-1)?.body ?? null)
  }

  /** A file of the project with a word that nobody else knows. */
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

  /** What the model has to say for the agent to run a command; a sentence if the agent has no such tool. */
  command(shell: string): ScriptBlock | string {
    const body = this.requests.at(-1)?.body
    const tool = commandTool(body)
    if (tool) return tool.call(shell, this.#asking)
    return `It offers no tool that runs commands, but: ${toolNames(body).join(', ') || 'none'}.`
  }

  /** Some releases ask about a plain command, and refuse one that says that it wants to be asked about. False if it is plain already. */
  askPlainly(): boolean {
    const had = this.#asking !== undefined
    this.#asking = undefined
    return had
  }

  /** What still runs of everything that was started here. */
  leftovers() {
    return findByMarker(this.#marker)
  }

  /** Texts of an agent name the folders of the trial. */
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
