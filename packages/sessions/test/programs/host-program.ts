// Hosts one session until it is killed, and prints what may not be lost any more, one JSON value a line:
// `node host-program.mjs OPTIONS`. A message is given with each start; what an earlier host left is found again first.
import { writeSync } from 'node:fs'
import type { SessionHarness } from '@chirality/core'
import {
  type AcpAgentSpec,
  acpDescriptor,
  ClaudeCodeHarness,
  CodexHarness,
  HarnessRegistry,
  MessagesApiHarness,
} from '@chirality/runner'
import { AgentSdkHarness } from '@chirality/runner/agent-sdk'
import { SessionHost } from '../../src/host/session-host.ts'

export interface HostProgramOptions {
  project: string
  data: string
  sessionId: string
  binary: string
  environment: Readonly<Record<string, string | undefined>>
  keepAlive: boolean
  /** The agent is the Agent SDK, not Claude Code. */
  sdk?: boolean
  /** The agent is Codex, with these overrides. */
  codex?: { configOverrides: string[]; allowEnvironment: string[] }
  /** The agent is our own loop. */
  messagesApi?: boolean
  /** The agent speaks the Agent Client Protocol. */
  acp?: AcpAgentSpec
  /** Dies as by `kill -9` when the harness has told all of a turn, before anything else is done about it. */
  dieAtEnd?: boolean
  message?: string
  /** Starts the agent ahead. */
  prewarm?: boolean
  /** Tools that run without asking. A message with them does not wait in the queue beyond its host. */
  allow?: string[]
  /** Goes on with a queue that is held. */
  release?: boolean
  /** Ends by itself when the session rests; `leave` ends at once and leaves the agent at work. */
  until?: 'settled' | 'leave'
}

const options: HostProgramOptions = JSON.parse(process.argv[2] ?? '{}')
const { project, data, sessionId, binary, environment, keepAlive, message, allow } = options
const say = (value: unknown) => writeSync(1, `${JSON.stringify(value)}\n`)

const harnesses = new HarnessRegistry<SessionHarness>()
const stop = { interruptGraceMs: 10_000, termGraceMs: 10_000, killGraceMs: 10_000 }
const harness: SessionHarness = options.acp
  ? await acpDescriptor(options.acp).create({ environment })
  : options.codex
    ? new CodexHarness({ binaryPath: binary, environment, stop, ...options.codex })
    : options.sdk
      ? new AgentSdkHarness({ binaryPath: binary, environment, stop })
      : options.messagesApi
        ? new MessagesApiHarness({ environment, stop })
        : new ClaudeCodeHarness({ binaryPath: binary, environment, keepAlive, stop })
if (options.dieAtEnd) {
  const startTurn = harness.startTurn.bind(harness)
  harness.startTurn = async function* (...args) {
    yield* startTurn(...args)
    process.kill(process.pid, 'SIGKILL')
  }
}
harnesses.register(harness)
const host = new SessionHost({ harnesses, address: 'http://127.0.0.1:1', home: data })
const report = await host.openProject(project)
say({ opened: report })
const session = await host.session(sessionId)
host.decisions.onChange(() => say({ pending: host.decisions.pending().length }))
void (async () => {
  for await (const batch of session.log.subscribe(0)) say({ seqs: batch.map(({ seq }) => seq) })
})()
if (options.prewarm) {
  await session.prewarm()
  say({ prewarmed: true })
}
if (options.release) await session.queue.release()
if (message !== undefined) {
  const request = allow === undefined ? {} : { autoApproveTools: allow }
  say({ sent: message, ...(await session.send(message, request)) })
}
if (options.until === 'settled') {
  await session.settled()
  await host.close()
}
if (options.until === 'leave') {
  await host.close({ agents: 'leave' })
  process.exit(0)
}
if (options.until === undefined) {
  setInterval(() => {}, 1000)
  await session.settled()
  say({ settled: true })
}
