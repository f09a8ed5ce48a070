import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { HarnessTurnOpts, Session } from '@chirality/core'
import { claudeBinaries } from '@chirality/fixtures'
import { claudeEnv, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { ClaudeCodeHarness } from '../src/claude-code/harness.ts'

/** What it is worth to keep Claude Code between turns, for each release: in time, in memory, and for a decision. */
export async function claudeRows(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const { version, path: binary } of claudeBinaries()) rows.push(...(await rowsOf(version, binary)))
  return rows
}

const FOLLOW_UP_BAR = 0.25
const PREWARMED_BAR = 0.6
const DECISION_BAR_MS = 20
const IDLE_BAR_MB = 1
const TURNS = 10
const IDLE_SESSIONS = 4

async function rowsOf(version: string, binary: string): Promise<BenchRow[]> {
  const place = await openPlace(binary)
  try {
    const { live, bare } = await followUps(place)
    const { ahead, fresh } = await firstTurns(place)
    const { ours, bare: direct } = await decisions(place)
    const idleMb = await idleMemory(place)
    const name = (what: string) => `Claude Code ${version}, ${what}`
    const better = 'lower'
    return [
      benchRow({
        name: name('follow-up turn to first stream event: kept against bare -p --resume'),
        ratio: median(live) / median(bare),
        bar: FOLLOW_UP_BAR,
        better,
        detail: `kept ${show(live)}; -p --resume ${show(bare)}`,
      }),
      benchRow({
        name: name('first turn to first stream event: started ahead against a fresh start'),
        ratio: median(ahead) / median(fresh),
        bar: PREWARMED_BAR,
        better,
        detail: `ahead ${show(ahead)}; fresh ${show(fresh)}`,
      }),
      benchRow({
        name: name('decision, request to tool result: ours above the bare protocol, p50 in ms'),
        ratio: median(ours) - median(direct),
        bar: DECISION_BAR_MS,
        better,
        detail: `ours ${show(ours)}; bare ${show(direct)}`,
      }),
      benchRow({
        name: name('memory of ours for a kept session, in MB'),
        ratio: idleMb,
        bar: IDLE_BAR_MB,
        better,
        detail: `heap after ${IDLE_SESSIONS} kept sessions, each ${idleMb.toFixed(2)} MB`,
      }),
    ]
  } finally {
    await place.close()
  }
}

interface Place {
  binary: string
  env: Record<string, string>
  model: ScriptedModel
  harness(): ClaudeCodeHarness
  session(): Session
  close(): Promise<void>
}

async function openPlace(binary: string): Promise<Place> {
  const root = mkdtempSync(path.join(tmpdir(), 'chirality-bench-claude-'))
  const home = path.join(root, 'home')
  const projectRoot = path.join(root, 'project')
  mkdirSync(path.join(home, 'tmp'), { recursive: true })
  mkdirSync(projectRoot)
  const touch = { tool: 'Bash', input: { command: 'touch made; echo IT-IS-MADE', description: 'x' } }
  const model = await startScriptedModel({
    routes: [
      { when: { toolResultContains: 'IT-IS-MADE' }, answers: [], otherwise: 'Made.' },
      { when: { lastUserContains: 'MAKE' }, answers: [], otherwise: touch },
    ],
    otherwise: 'The answer is the same every time.',
  })
  const env = claudeEnv(model, home)
  const harnesses: ClaudeCodeHarness[] = []
  return {
    binary,
    env,
    model,
    harness: () => {
      const harness = new ClaudeCodeHarness({ binaryPath: binary, environment: env, maxIdle: 100 })
      harnesses.push(harness)
      return harness
    },
    session: () => {
      const at = new Date(0).toISOString()
      const base = { createdAt: at, updatedAt: at, persona: null, claudeSessionId: null }
      return { ...base, id: randomUUID(), projectRoot, mode: 'direct' }
    },
    close: async () => {
      await Promise.all(harnesses.map(harness => harness.close()))
      await model.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

async function followUps(place: Place): Promise<{ live: number[]; bare: number[] }> {
  const harness = place.harness()
  const session = place.session()
  const other = place.session()
  await timeTurn(harness, session)
  await timeTurn(harness, other)
  const times = { live: [] as number[], bare: [] as number[] }
  await harness.prewarm?.(session)
  // In turns, so that whatever else the machine does falls on both.
  for (let index = 0; index < TURNS; index += 1) {
    times.live.push(await timeTurn(harness, session))
    times.bare.push(await timeBare(place, other))
  }
  await harness.close()
  return times
}

async function firstTurns(place: Place): Promise<{ ahead: number[]; fresh: number[] }> {
  const times = { ahead: [] as number[], fresh: [] as number[] }
  for (let index = 0; index < TURNS; index += 1) {
    const harness = place.harness()
    const session = place.session()
    await harness.prewarm?.(session)
    times.ahead.push(await timeTurn(harness, session))
    times.fresh.push(await timeBare(place))
    await harness.close()
  }
  return times
}

/** From the question on the screen to the result of the tool, with the answer given at once. */
async function decisions(place: Place): Promise<{ ours: number[]; bare: number[] }> {
  const harness = place.harness()
  const session = place.session()
  const times = { ours: [] as number[], bare: [] as number[] }
  const bare = bareChat(place)
  await bare.turn()
  for (let index = 0; index < TURNS; index += 1) {
    times.ours.push(await timeDecision(harness, session))
    times.bare.push(await bare.turn())
  }
  bare.end()
  await harness.close()
  return times
}

async function timeDecision(harness: ClaudeCodeHarness, session: Session): Promise<number> {
  let askedAt = Number.NaN
  let took = Number.NaN
  const decide = async () => ({ behavior: 'allow' }) as const
  const opts: HarnessTurnOpts = { decide, permissionMode: 'default' }
  for await (const event of harness.startTurn(session, 'MAKE', opts)) {
    if (event.type === 'session:init') session.claudeSessionId = event.claudeSessionId
    if (event.type === 'permission:request') askedAt = performance.now()
    if (event.type === 'tool:result') took = performance.now() - askedAt
  }
  if (Number.isNaN(took)) throw new Error('nothing was asked')
  return took
}

/** The protocol without us: a pipe, and the answer in the handler that sees the question. */
function bareChat({ binary, env, session }: Place) {
  const args = [...STREAM, '--input-format', 'stream-json', '--permission-prompt-tool', 'stdio']
  const child = spawn(binary, args, { cwd: session().projectRoot, env, stdio: ['pipe', 'pipe', 'ignore'] })
  let onEvent: (event: Record<string, unknown>) => void = () => {}
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onEvent(JSON.parse(line))
  })
  const send = (value: object) => child.stdin.write(`${JSON.stringify(value)}\n`)
  const turn = () =>
    new Promise<number>(resolve => {
      let askedAt = 0
      let took = Number.NaN
      onEvent = event => {
        if (event.type === 'control_request') {
          askedAt = performance.now()
          const { input } = event.request as { input: unknown }
          const response = { behavior: 'allow', updatedInput: input }
          send({
            type: 'control_response',
            response: { subtype: 'success', request_id: event.request_id, response },
          })
        }
        if (event.type === 'user') took = performance.now() - askedAt
        if (event.type === 'result') resolve(took)
      }
      send({ type: 'user', message: { role: 'user', content: 'MAKE' } })
    })
  return { turn, end: () => child.stdin.end() }
}

async function timeTurn(harness: ClaudeCodeHarness, session: Session): Promise<number> {
  const start = performance.now()
  let first = Number.NaN
  for await (const event of harness.startTurn(session, 'Again, please.')) {
    if (event.type === 'session:init') session.claudeSessionId = event.claudeSessionId
    if (event.type === 'chat:delta' && Number.isNaN(first)) first = performance.now() - start
  }
  if (Number.isNaN(first)) throw new Error('a turn without text')
  return first
}

/** To the first stream event, which comes before the first text: the comparison is not in our favour. */
async function timeBare({ binary, env, session }: Place, resumed?: Session): Promise<number> {
  const resume = resumed?.claudeSessionId ? ['--resume', resumed.claudeSessionId] : []
  const start = performance.now()
  const child = spawn(binary, [...STREAM, ...resume], {
    cwd: session().projectRoot,
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  child.stdin.end('Again, please.')
  let first = Number.NaN
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    if (Number.isNaN(first) && chunk.includes('"stream_event"')) first = performance.now() - start
  })
  await once(child, 'close')
  if (Number.isNaN(first)) throw new Error('a run without a stream event')
  return first
}

const STREAM = ['-p', '--output-format', 'stream-json', '--verbose', '--include-partial-messages']

async function idleMemory(place: Place): Promise<number> {
  const harness = place.harness()
  await timeTurn(harness, place.session())
  const before = heapMb()
  for (let index = 0; index < IDLE_SESSIONS; index += 1) await timeTurn(harness, place.session())
  const perSession = (heapMb() - before) / IDLE_SESSIONS
  await harness.close()
  return Math.max(perSession, 0)
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function heapMb(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1024 / 1024
}

function show(times: number[]): string {
  return `p50 ${median(times).toFixed(0)} ms [${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)}]`
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
