import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable, Writable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { client, ndJsonStream } from '@agentclientprotocol/sdk'
import type { Session, SessionHarness } from '@chirality/core'
import { acpAdapter, claudeBinary } from '@chirality/fixtures'
import { claudeEnv, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { acpDescriptor } from '../src/acp/agent-spec.ts'
import { acpHarness } from '../src/acp/harness.ts'
import { acpAgentHarness } from '../test/acp/contestants.ts'

/** An agent of the Agent Client Protocol that is kept between turns: how soon it speaks, and what it takes of our memory. */
export async function acpRows(): Promise<BenchRow[]> {
  return [await firstEventRow(), await memoryRow()]
}

const FIRST_EVENT_BAR = 1.1
const TURNS = 60
const MEMORY_BAR_MB = 1
const AGENTS = 12
const PATH = `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`

async function firstEventRow(): Promise<BenchRow> {
  const root = mkdtempSync(path.join(tmpdir(), 'chirality-bench-acp-'))
  const model = await startScriptedModel({ otherwise: 'The answer is the same every time.' })
  const times = { ours: [] as number[], bare: [] as number[] }
  const environment = environmentOf(root, 'ours', model)
  // Both get the same variables.
  const names = Object.keys(environment)
  const harness = acpAgentHarness('claude', acpAdapter('claude-agent-acp'), environment, names)
  const bare = await bareAgent(environmentOf(root, 'bare', model), path.join(root, 'bare'))
  try {
    const session = newSession(path.join(root, 'ours'))
    // The first turn of each starts the conversation.
    await timeTurn(harness, session)
    await bare.turn()
    const ours = async () => times.ours.push(await timeTurn(harness, session))
    const theirs = async () => times.bare.push(await bare.turn())
    // In turns and in either order, so that whatever else the machine does falls on both.
    for (let turn = 0; turn < TURNS; turn += 1)
      for (const side of turn % 2 === 0 ? [ours, theirs] : [theirs, ours]) await side()
  } finally {
    await Promise.all([harness.close(), bare.end()])
    await model.close()
    rmSync(root, { recursive: true, force: true, maxRetries: 5 })
  }
  const show = (all: number[]) => `p50 ${median(all).toFixed(1)} ms, fastest ${Math.min(...all).toFixed(1)}`
  return benchRow({
    name: 'ACP, follow-up turn to first text of a kept agent: ours against @agentclientprotocol/sdk',
    ratio: median(times.ours) / median(times.bare),
    bar: FIRST_EVENT_BAR,
    better: 'lower',
    detail: `claude-agent-acp, ${TURNS} turns of each; ours ${show(times.ours)}; SDK ${show(times.bare)}`,
  })
}

/** Of this process, after a collection: the agents themselves are other processes. */
async function memoryRow(): Promise<BenchRow> {
  const root = mkdtempSync(path.join(tmpdir(), 'chirality-bench-acp-'))
  const command = path.resolve('test/programs/fake-acp.mjs')
  const spec = { name: 'fake', command, args: [], env: [] }
  const { meta, capabilities } = acpDescriptor(spec)
  const environment = { PATH, HOME: root, TMPDIR: root }
  const harness = acpHarness({ spec, meta, capabilities, options: { environment } })
  try {
    // What the first ones need is compiled code and caches.
    for (const name of ['first', 'second']) await timeTurn(harness, newSession(path.join(root, name)))
    const before = await heldBytes()
    for (let agent = 0; agent < AGENTS; agent += 1)
      await timeTurn(harness, newSession(path.join(root, `kept-${agent}`)))
    const each = ((await heldBytes()) - before) / AGENTS / 1024 / 1024
    return benchRow({
      name: 'ACP, memory of ours for a kept agent, in MB',
      ratio: each,
      bar: MEMORY_BAR_MB,
      better: 'lower',
      detail: `heap and buffers after a collection, mean of ${AGENTS} agents after one turn each`,
    })
  } finally {
    await harness.close()
    rmSync(root, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function heldBytes(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 3; round += 1) {
    collect()
    await new Promise(resolve => setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function environmentOf(root: string, name: string, model: ScriptedModel): Record<string, string> {
  const home = path.join(root, `${name}-home`)
  mkdirSync(path.join(home, 'tmp'), { recursive: true })
  return { ...claudeEnv(model, home), PATH, CLAUDE_CODE_EXECUTABLE: claudeBinary() }
}

async function bareAgent(env: Record<string, string>, cwd: string) {
  mkdirSync(cwd, { recursive: true })
  const child: ChildProcess = spawn(acpAdapter('claude-agent-acp'), {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  if (!child.stdin || !child.stdout) throw new Error('no pipes')
  let onText = () => {}
  const { agent } = client({ name: 'bench' })
    .onNotification('session/update', ({ params }) => {
      if (params.update.sessionUpdate === 'agent_message_chunk') onText()
    })
    .connect(
      ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>),
    )
  await agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  const { sessionId } = await agent.request('session/new', { cwd, mcpServers: [] })
  return {
    turn: async () => {
      const start = performance.now()
      let first = Number.NaN
      onText = () => {
        if (Number.isNaN(first)) first = performance.now() - start
      }
      const prompt = [{ type: 'text' as const, text: 'Again, please.' }]
      await agent.request('session/prompt', { sessionId, prompt })
      return first
    },
    end: async () => {
      child.stdin?.end()
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

async function timeTurn(harness: SessionHarness, session: Session): Promise<number> {
  const start = performance.now()
  let first = Number.NaN
  for await (const event of harness.startTurn(session, 'Again, please.')) {
    if (event.type === 'session:init') session.claudeSessionId = event.claudeSessionId
    if (event.type === 'chat:delta' && Number.isNaN(first)) first = performance.now() - start
  }
  if (Number.isNaN(first)) throw new Error('a turn without text')
  return first
}

function newSession(projectRoot: string): Session {
  mkdirSync(projectRoot, { recursive: true })
  const at = new Date(0).toISOString()
  const base = { id: projectRoot, createdAt: at, updatedAt: at, persona: null, claudeSessionId: null }
  return { ...base, projectRoot, mode: 'direct' }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
