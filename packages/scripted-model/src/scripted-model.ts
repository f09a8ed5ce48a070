import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AnswerRouter } from './answer/answer-router.ts'
import { StallGate } from './answer/stall-gate.ts'
import { handleRequest } from './handle-request.ts'
import { type RecordedRequest, RequestLog, type WantedRequest } from './request/request-log.ts'
import { checkScript, loadScript } from './script/parse-script.ts'
import type { Script, ScriptAnswer } from './script/script.ts'

export interface ScriptedModelOptions {
  /** Default 0: any free port. */
  port?: number
  /** A loopback address. Default 127.0.0.1. */
  host?: string
}

export interface ScriptedModel {
  /** Base for `ANTHROPIC_BASE_URL`. */
  readonly url: string
  /** Base for an OpenAI-style client, ends in `/v1`. */
  readonly openaiUrl: string
  readonly port: number
  /** Everything that was asked so far, oldest first. */
  readonly requests: readonly RecordedRequest[]
  /** The first recorded request that fits, now or later; a number means the n-th model request. */
  waitForRequest(wanted: WantedRequest): Promise<RecordedRequest>
  /** Replaces the answers of the main list that have not been served. Throws a ScriptError for one that is not valid. */
  continueWith(...answers: ScriptAnswer[]): void
  /** Lets every stalled answer go on; says how many there were. */
  release(): number
  /** Answers not served yet, over all queues. */
  remaining(): number
  /** Drops every connection. Resolves when the port is free. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts a server on loopback that answers like a model, from a script. */
export async function startScriptedModel(
  source: Script | { file: string },
  { port = 0, host = '127.0.0.1' }: ScriptedModelOptions = {},
): Promise<ScriptedModel> {
  if (!LOOPBACK_HOSTS.has(host)) {
    throw new RangeError(
      `A scripted model listens on loopback only, not on ${host}. Use 127.0.0.1, ::1 or localhost.`,
    )
  }
  const script = 'file' in source ? await loadScript(source.file) : checkScript(source)
  const conversation = {
    script,
    router: new AnswerRouter(script),
    log: new RequestLog(),
    gate: new StallGate(),
  }
  const server = createServer((request, response) => handleRequest(request, response, conversation))
  // A server that closes an idle socket races with the client's next request, which then fails for no scripted reason.
  server.keepAliveTimeout = 0
  await listen(server, port, host)
  const address = server.address() as AddressInfo
  const url = `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
  const close = () => {
    conversation.log.close()
    return closeServer(server)
  }
  return {
    url,
    openaiUrl: `${url}/v1`,
    port: address.port,
    requests: conversation.log.requests,
    waitForRequest: wanted => conversation.log.waitFor(wanted),
    continueWith: (...answers) => conversation.router.continueWith(checkScript({ answers }).answers ?? []),
    release: () => conversation.gate.release(),
    remaining: () => conversation.router.remaining(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

const LOOPBACK_HOSTS = new Set(['127.0.0.1', '::1', 'localhost'])

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
