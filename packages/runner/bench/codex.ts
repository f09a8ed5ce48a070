import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Session } from '@chirality/core'
import { codexBinary } from '@chirality/fixtures'
import { codexArgs, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { CodexHarness } from '../src/codex/harness.ts'

/** A follow-up turn of a session, from sending it to the first text on the screen: kept app-server against `exec resume`. */
export async function codexRow(): Promise<BenchRow> {
  const { live, exec } = await measure()
  const show = (times: number[]) =>
    `p50 ${median(times).toFixed(0)} ms [${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)}]`
  return benchRow({
    name: 'Codex, follow-up turn to first text: live app-server against exec resume',
    ratio: median(live) / median(exec),
    bar: ALLOWED_AGAINST_EXEC,
    better: 'lower',
    detail: `app-server ${show(live)}; exec resume ${show(exec)}`,
  })
}

const ALLOWED_AGAINST_EXEC = 0.35
const TURNS = 10

async function measure(): Promise<{ live: number[]; exec: number[] }> {
  const root = mkdtempSync(path.join(tmpdir(), 'chirality-bench-codex-'))
  const model = await startScriptedModel({ otherwise: 'The answer is the same every time.' })
  const sides = { live: side(root, 'app-server', model), exec: side(root, 'exec', model) }
  const times = { live: [] as number[], exec: [] as number[] }
  try {
    // The first turn of each starts the conversation.
    await sides.live.turn()
    await sides.exec.turn()
    // In turns, so that whatever else the machine does falls on both.
    for (let index = 0; index < TURNS; index += 1) {
      times.live.push(await sides.live.turn())
      times.exec.push(await sides.exec.turn())
    }
  } finally {
    await Promise.all([sides.live.harness.close(), sides.exec.harness.close()])
    await model.close()
    rmSync(root, { recursive: true, force: true })
  }
  return times
}

function side(root: string, voice: 'app-server' | 'exec', model: ScriptedModel) {
  const home = path.join(root, voice)
  const session = newSession(path.join(home, 'project'))
  mkdirSync(session.projectRoot, { recursive: true })
  mkdirSync(path.join(home, '.codex'))
  const { args, env } = codexArgs(model)
  const harness = new CodexHarness({
    binaryPath: codexBinary().path,
    voice,
    configOverrides: args.filter(arg => arg !== '-c'),
    allowEnvironment: Object.keys(env),
    environment: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: home, TMPDIR: root, ...env },
  })
  return { harness, turn: () => timeTurn(harness, session) }
}

async function timeTurn(harness: CodexHarness, session: Session): Promise<number> {
  const start = performance.now()
  let firstText = Number.NaN
  for await (const event of harness.startTurn(session, 'Again, please.', { model: 'gpt-5.5' })) {
    if (event.type === 'session:init') session.claudeSessionId = event.claudeSessionId
    const isText = event.type === 'chat:delta' || event.type === 'chat:message'
    if (isText && Number.isNaN(firstText)) firstText = performance.now() - start
  }
  if (Number.isNaN(firstText)) throw new Error('a turn without text')
  return firstText
}

function newSession(projectRoot: string): Session {
  const at = new Date(0).toISOString()
  const base = { id: projectRoot, createdAt: at, updatedAt: at, persona: null, claudeSessionId: null }
  return { ...base, projectRoot, mode: 'direct' }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
