// Rows for the app-server translator. Run with a variant and a file it is the measured process itself.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createCodexAppServerTranslator, NdjsonFramer } from '@chirality/core'
import { cpuMs, cpuRatios, measure, median, type Sample, spread } from './measure.ts'
import { type BenchRow, benchRow } from './report.ts'

const SELF = fileURLToPath(import.meta.url)
const CORPUS_MB = 60
const CHUNK_BYTES = 64 * 1024
const WARM_UP_BYTES = 4 * 1024 * 1024

/** `folder` is for the corpus. */
export async function codexRows(folder: string, rounds: number): Promise<BenchRow[]> {
  const file = path.join(folder, 'codex.ndjson')
  writeFileSync(file, codexCorpus(CORPUS_MB * 1e6))
  const names = ['bare', 'translate']
  const measured = await measure(
    names.map(name => ({ name, args: [SELF, name, file] })),
    rounds,
  )
  const ratios = cpuRatios(measured, 'bare', 'translate')
  const rate = CORPUS_MB / (median(measured.map(round => cpuMs(round, 'translate'))) / 1000)
  return [
    benchRow({
      name: 'Codex: frame + parse + translate, of bare JSON.parse on split lines',
      ratio: median(ratios),
      bar: 0.6,
      better: 'higher',
      detail: `${spread(ratios)}, ${rate.toFixed(0)} MB/s`,
    }),
  ]
}

const VARIANTS: Record<string, (corpus: Buffer) => () => number> = {
  bare: corpus => {
    const lines = splitLines(corpus)
    return () => {
      for (const line of lines) JSON.parse(line.toString())
      return lines.length
    }
  },
  translate: corpus => () => {
    const framer = new NdjsonFramer()
    const translator = createCodexAppServerTranslator({ sessionId: 'bench' })
    let records = 0
    for (let start = 0; start < corpus.length; start += CHUNK_BYTES) {
      for (const record of framer.push(corpus.subarray(start, start + CHUNK_BYTES))) {
        translator.translateRecord(record)
        records += 1
      }
    }
    return records
  },
}

const ANSWERS_PER_TURN = 20
const DELTAS_PER_ITEM = 60
const OUTPUT_CHARS = 6000

/** Bytes as `codex app-server` prints them in a long session: nearly all are deltas. */
function codexCorpus(bytes: number): Buffer {
  const lines: Buffer[] = []
  let size = 0
  for (let answer = 0; size < bytes; answer += 1) {
    for (const message of answerOf(answer)) {
      const line = Buffer.from(`${JSON.stringify(message)}\n`)
      lines.push(line)
      size += line.length
    }
  }
  return Buffer.concat(lines)
}

function* answerOf(index: number) {
  const threadId = '01a1e1b7-6e7c-7da3-a540-adc65475484a'
  const turnId = `01a1e1b7-6eb6-77b3-aa30-${String(Math.floor(index / ANSWERS_PER_TURN)).padStart(12, '0')}`
  const at = 1_794_788_257_000 + index
  const say = (method: string, params: object) => ({
    method,
    params: { threadId, turnId, ...params },
    emittedAtMs: at,
  })
  const turn = { id: turnId, rootTurnId: turnId, items: [], status: 'inProgress', error: null }
  if (index % ANSWERS_PER_TURN === 0) yield say('turn/started', { turn })
  const itemId = `msg_${index}`
  const message = { type: 'agentMessage', id: itemId, text: '', phase: null, startedAtMs: at }
  yield say('item/started', { item: message, startedAtMs: at })
  for (let i = 0; i < DELTAS_PER_ITEM; i += 1)
    yield say('item/agentMessage/delta', { itemId, delta: `word ${i} “and” more ` })
  yield say('item/completed', { item: { ...message, text: 'word and more '.repeat(DELTAS_PER_ITEM) } })
  const callId = `call_${index}`
  const command = {
    type: 'commandExecution',
    id: callId,
    command: `/bin/bash -lc 'run ${index}'`,
    cwd: '/project',
  }
  yield say('item/started', { item: { ...command, status: 'inProgress', aggregatedOutput: null } })
  for (let i = 0; i < DELTAS_PER_ITEM; i += 1)
    yield say('item/commandExecution/outputDelta', { itemId: callId, delta: `ok ${i} - test passes\n` })
  const aggregatedOutput = 'ok - a test passes\n'.repeat(OUTPUT_CHARS / 19)
  yield say('item/completed', { item: { ...command, status: 'completed', exitCode: 0, aggregatedOutput } })
  const total = { inputTokens: 100 * index, cachedInputTokens: 20 * index, outputTokens: 25 * index }
  yield say('thread/tokenUsage/updated', { tokenUsage: { total, last: total, modelContextWindow: 258_400 } })
  if (index % ANSWERS_PER_TURN === ANSWERS_PER_TURN - 1)
    yield say('turn/completed', { turn: { ...turn, status: 'completed', durationMs: 1 } })
}

function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start)
    lines.push(bytes.subarray(start, newline))
    start = newline + 1
  }
  return lines
}

if (process.argv[1] === SELF) {
  const [, , variant = '', file = ''] = process.argv
  const prepare = VARIANTS[variant]
  if (!prepare) throw new Error(`no variant ${variant}`)
  const corpus = readFileSync(file)
  prepare(corpus.subarray(0, corpus.indexOf(10, WARM_UP_BYTES) + 1))()
  const run = prepare(corpus)
  globalThis.gc?.()
  const before = process.cpuUsage()
  const check = run()
  const { user, system } = process.cpuUsage(before)
  const sample: Sample = { cpuMs: (user + system) / 1000, check }
  process.stdout.write(JSON.stringify(sample))
}
