import { Worker } from 'node:worker_threads'
import type {
  ControlMethod,
  StartRequest,
  WorkerRequest,
  WorkerResponse,
} from './protocol/worker-messages.ts'

export type SpawnRequest = Extract<WorkerResponse, { type: 'spawn' }>

/** The requests and reports of the Worker. Handlers that return nothing must not throw. */
export interface SdkWorkerHandlers {
  onSpawn(request: SpawnRequest): void
  onStdin(text: string): void
  onStdinEnd(): void
  onKill(signal: string): void
  onHook(request: Extract<WorkerResponse, { type: 'hook_event' }>): void
  onPermission(request: Extract<WorkerResponse, { type: 'permission' }>): void
  onWithdrawn(requestId: string): void
  onMessage(message: Record<string, unknown>): void
  /** The SDK has ended or failed; it reports nothing more. */
  onEnd(error: string | undefined): void
}

/** The SDK in a thread of its own. After its end it reports nothing, and messages to it are dropped. */
export class SdkWorker {
  readonly #worker: Worker
  readonly #handlers: SdkWorkerHandlers
  readonly #controls = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >()
  #nextControl = 1
  #over = false
  #onOver: () => void = () => {}
  readonly ended = new Promise<void>(resolve => {
    this.#onOver = resolve
  })

  constructor(start: StartRequest, handlers: SdkWorkerHandlers) {
    this.#handlers = handlers
    // The Worker receives none of our variables: the agent's environment is in the options.
    this.#worker = new Worker(new URL('./worker.mjs', import.meta.url), {
      env: {},
      // The SDK warns about options that are set on purpose.
      execArgv: ['--no-warnings'],
    })
    this.#worker.on('message', (response: WorkerResponse) => this.#hear(response))
    this.#worker.on('error', error => this.#end(String(error)))
    this.#worker.on('exit', code => this.#end(`The Worker of the Agent SDK ended with code ${code}.`))
    this.#post({ type: 'start', start })
  }

  send(message: Record<string, unknown>): void {
    this.#post({ type: 'message', message })
  }

  decide(requestId: string, output: Record<string, unknown>): void {
    this.#post({ type: 'decision', requestId, output })
  }

  stdout(text: string): void {
    this.#post({ type: 'stdout', text })
  }

  exited(code: number | null, signal: string | null): void {
    this.#post({ type: 'exit', code, signal })
  }

  finish(): void {
    this.#post({ type: 'finish' })
  }

  /** Rejects when the agent refuses the request, or exits before it answers. */
  control(method: ControlMethod, argument?: unknown): Promise<unknown> {
    if (this.#over) return Promise.reject(new Error('The Agent SDK has ended.'))
    const id = this.#nextControl++
    return new Promise((resolve, reject) => {
      this.#controls.set(id, { resolve, reject })
      this.#post({ type: 'control', id, method, argument })
    })
  }

  /** Ends the SDK regularly first. The thread has ended when this resolves. */
  async close(): Promise<void> {
    this.#post({ type: 'abort' })
    this.#end(undefined)
    await this.#worker.terminate()
  }

  #post(request: WorkerRequest): void {
    if (!this.#over) this.#worker.postMessage(request)
  }

  #hear(response: WorkerResponse): void {
    if (this.#over) return
    const handlers = this.#handlers
    switch (response.type) {
      case 'ready':
        return
      case 'spawn':
        return handlers.onSpawn(response)
      case 'stdin':
        return handlers.onStdin(response.text)
      case 'stdin-end':
        return handlers.onStdinEnd()
      case 'kill':
        return handlers.onKill(response.signal)
      case 'hook_event':
        return handlers.onHook(response)
      case 'permission':
        return handlers.onPermission(response)
      case 'guard':
        return
      case 'withdrawn':
        return handlers.onWithdrawn(response.requestId)
      case 'sdk_message':
        return handlers.onMessage(response.message)
      case 'control-result':
        return this.#settle(response)
      case 'done':
        return this.#end(undefined)
      case 'error':
        return this.#end(response.error)
    }
  }

  #settle({ id, value, error }: Extract<WorkerResponse, { type: 'control-result' }>): void {
    const control = this.#controls.get(id)
    this.#controls.delete(id)
    if (error === undefined) control?.resolve(value)
    else control?.reject(new Error(error))
  }

  #end(error: string | undefined): void {
    if (this.#over) return
    this.#over = true
    for (const { reject } of this.#controls.values()) reject(new Error(error ?? 'The Agent SDK has ended.'))
    this.#controls.clear()
    this.#handlers.onEnd(error)
    this.#onOver()
    void this.#worker.terminate()
  }
}
