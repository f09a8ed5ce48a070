import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type {
  HarnessTurnOpts,
  PermissionDecision,
  Session,
  TurnProcess,
  TurnTrace,
  UIEvent,
} from '@chirality/core'
import { agentCache } from '@chirality/fixtures'
import { type Bundle, bundleProgram } from '@chirality/fixtures/bundle-program'
import { afterAll, beforeAll } from 'vitest'
import type { ModelAddress, Place } from '../cross-harness/contestants.ts'
import { TEST_ENV } from './programs.ts'

export interface HostRequest {
  /** Name of the contestant. */
  agent: string
  model: ModelAddress
  place: Place
  session: Session
  message: string
  opts: Omit<HarnessTurnOpts, 'decide' | 'onProcess' | 'signal'>
  /** The answer to whatever is asked. */
  decision?: PermissionDecision | 'never'
  /** Does not go on after such an event: it is told, and nothing after it is done. */
  holdAt?: UIEvent['type']
}

export type HostStart = Omit<HostRequest, 'opts'> & { opts?: HostRequest['opts'] }

/** Starts hosts. Their program is made once for the tests of a file. */
export function useHosts(): { start(request: HostStart): Host } {
  let program: Bundle
  beforeAll(async () => {
    program = await bundleProgram(fileURLToPath(new URL('../programs/host.ts', import.meta.url)))
  })
  afterAll(() => program.remove())
  return { start: request => new Host(program.file, request) }
}

/** Which contestants there are. */
function chosenAgents(): NodeJS.ProcessEnv {
  const { CHIRALITY_TEST_ALL } = process.env
  return CHIRALITY_TEST_ALL ? { CHIRALITY_TEST_ALL, CHIRALITY_CACHE: agentCache() } : {}
}

/** Another Chirality, that runs a turn in a process of its own until it is killed. */
export class Host {
  readonly events: UIEvent[] = []
  readonly processes: TurnProcess[] = []
  readonly #child: ChildProcess
  readonly #request: HostRequest
  readonly #exited: Promise<unknown>
  #stderr = ''
  #ended = false
  #wake = () => {}

  constructor(program: string, request: HostStart) {
    this.#request = { ...request, opts: { turnId: randomUUID(), ...request.opts } }
    this.#child = spawn(process.execPath, [program, JSON.stringify(this.#request)], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      env: { ...TEST_ENV, ...chosenAgents() },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#exited = once(this.#child, 'close')
    void this.#exited.then(() => this.#end())
    this.#child.stderr?.on('data', chunk => {
      this.#stderr += String(chunk)
    })
    if (this.#child.stdout)
      createInterface({ input: this.#child.stdout }).on('line', line => this.#hear(line))
  }

  /** Resolves when it has told such an event. */
  async tells(fits: (event: UIEvent) => boolean): Promise<void> {
    while (!this.events.some(fits)) {
      if (this.#ended) throw new Error(`the host ended: ${this.#stderr}`)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  /** As a machine that runs out of memory does it. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#exited
  }

  /** Lets it come to its end. */
  async finish(): Promise<void> {
    await this.#exited
    if (this.#child.exitCode !== 0) throw new Error(`the host failed: ${this.#stderr}`)
  }

  /** What a store would have kept of the turn. */
  trace(): TurnTrace {
    const { session, message, opts } = this.#request
    return {
      turnId: opts.turnId ?? '',
      startedAt: '2026-01-01T00:00:00.000Z',
      message,
      ...(session.claudeSessionId === null ? {} : { resumeSessionId: session.claudeSessionId }),
      processes: this.processes,
    }
  }

  #hear(line: string): void {
    const { event, traced } = JSON.parse(line) as { event?: UIEvent; traced?: TurnProcess }
    if (event) this.events.push(event)
    if (traced) this.processes.push(traced)
    this.#wake()
  }

  #end(): void {
    this.#ended = true
    this.#wake()
  }
}
