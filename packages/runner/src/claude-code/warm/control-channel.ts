import { randomUUID } from 'node:crypto'
import type { ClaudeEvent } from '@chirality/core'
import { asObject } from '../../common/json.ts'
import type { AgentProcess } from '../../process/agent-process.ts'
import { controlErrorLine, controlRequestLine, controlResponseLine } from '../launch/prompt.ts'

/** The agent refused a request, did not answer it, or has exited. */
export class ControlError extends Error {
  /** The process has exited. */
  readonly isGone: boolean
  /** The agent does not know this kind of request. */
  readonly isUnknown: boolean

  constructor(message: string, isGone = false) {
    super(message)
    this.name = 'ControlError'
    this.isGone = isGone
    this.isUnknown = UNKNOWN_REQUEST.test(message)
  }
}

/** Control requests to the agent beside the conversation, and the answers to the agent's own. */
export class ControlChannel {
  readonly #process: Pick<AgentProcess, 'write'>
  readonly #pending = new Map<string, Pending>()
  #closed = false

  constructor(process: Pick<AgentProcess, 'write'>) {
    this.#process = process
  }

  /** Rejects with a ControlError. */
  async request(request: ControlRequest, id: string = randomUUID()): Promise<Record<string, unknown>> {
    if (this.#closed) throw gone()
    const answer = new Promise<Record<string, unknown>>((resolve, reject) => {
      const late = () => this.#take(id)?.reject(new ControlError(`${request.subtype} was not answered.`))
      this.#pending.set(id, { resolve, reject, patience: setTimeout(late, REQUEST_MS) })
    })
    void this.#process.write(controlRequestLine(id, request)).then(isWritten => {
      if (!isWritten) this.#take(id)?.reject(gone())
    })
    return answer
  }

  respond(requestId: string, response: Record<string, unknown>): void {
    void this.#process.write(controlResponseLine(requestId, response))
  }

  respondError(requestId: string, error: string): void {
    void this.#process.write(controlErrorLine(requestId, error))
  }

  /** Has to be called for every event that the agent prints. */
  see(event: ClaudeEvent): void {
    if (event.type !== 'control_response') return
    const { subtype, request_id: id, response, error } = asObject(event.response)
    const pending = this.#take(String(id))
    if (subtype === 'success') pending?.resolve(asObject(response))
    else pending?.reject(new ControlError(String(error ?? 'The agent refused.')))
  }

  /** The agent has exited: rejects every pending request. */
  close(): void {
    this.#closed = true
    for (const id of [...this.#pending.keys()]) this.#take(id)?.reject(gone())
  }

  #take(id: string): Pending | undefined {
    const pending = this.#pending.get(id)
    clearTimeout(pending?.patience)
    this.#pending.delete(id)
    return pending
  }
}

/** Example: "Unsupported control request subtype: telepathy". */
const UNKNOWN_REQUEST = /unsupported control request/i

export type ControlRequest = { subtype: string } & Record<string, unknown>

interface Pending {
  resolve(answer: Record<string, unknown>): void
  reject(error: ControlError): void
  patience: NodeJS.Timeout
}

/** A busy agent answers late; after this time the request counts as unanswered. */
const REQUEST_MS = 30_000

function gone(): ControlError {
  return new ControlError('Claude Code is gone.', true)
}
