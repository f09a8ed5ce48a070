// One measurement in a process of its own: variants.ts VARIANT …arguments; prints a Sample.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { createClaudeTranslator, NdjsonFramer } from '@chirality/core'
import { hugeLine } from './corpus.ts'
import type { Sample } from './measure.ts'

const CHUNK_BYTES = 64 * 1024
const WARM_UP_BYTES = 8 * 1024 * 1024
const WARM_UP_LINES = 40

// They live as long as the process, as in a server: V8 drops the code it optimised for a class with its last instance,
// so a framer per run would measure the compiler.
const framer = new NdjsonFramer()
const translator = createClaudeTranslator({ sessionId: 'bench' })

/** Over a corpus: prepare from its bytes, and the part that is measured, which counts records. */
const CORPUS: Record<string, (corpus: Buffer) => () => number | Promise<number>> = {
  bare: corpus => {
    const lines = splitLines(corpus)
    return () => count(lines, line => JSON.parse(line.toString()))
  },
  framer: corpus => {
    const chunks = cut(corpus, CHUNK_BYTES)
    return () => sum(chunks, chunk => framer.push(chunk).length)
  },
  translate: corpus => {
    const chunks = cut(corpus, CHUNK_BYTES)
    const translate = (chunk: Buffer) =>
      count(framer.push(chunk), record => translator.translateRecord(record))
    return () => sum(chunks, translate)
  },
  'framer-stream': corpus => {
    const chunks = cut(corpus, CHUNK_BYTES)
    return async () => {
      let records = 0
      for await (const chunk of streamOf(chunks)) records += framer.push(chunk).length
      return records
    }
  },
  'readline-stream': corpus => {
    const chunks = cut(corpus, CHUNK_BYTES)
    return async () => {
      const lines = createInterface({ input: streamOf(chunks), crlfDelay: Number.POSITIVE_INFINITY })
      let records = 0
      for await (const line of lines) {
        JSON.parse(line)
        records += 1
      }
      return records
    }
  },
}

const [variant = '', ...rest] = process.argv.slice(2)
const prepare = CORPUS[variant]
if (prepare !== undefined) {
  const corpus = readFileSync(rest[0] ?? '')
  await prepare(corpus.subarray(0, corpus.indexOf(10, WARM_UP_BYTES) + 1))()
  await print(prepare(corpus))
} else {
  const [megabytes = 0, chunkBytes] = rest.map(Number)
  const warmUp = line(1e6, chunkBytes)
  for (let i = 0; i < WARM_UP_LINES; i += 1) warmUp()
  await print(line(megabytes * 1e6, chunkBytes))
}

/** One huge line: in chunks through the framer, or, without a chunk size, through one JSON.parse. */
function line(bytes: number, chunkBytes: number | undefined): () => number {
  const input = hugeLine(bytes)
  if (chunkBytes === undefined) {
    const whole = input.subarray(0, -1)
    return () => count([whole], buffer => JSON.parse(buffer.toString()))
  }
  const chunks = cut(input, chunkBytes)
  return () => sum(chunks, chunk => framer.push(chunk).length)
}

async function print(run: () => number | Promise<number>): Promise<void> {
  globalThis.gc?.()
  const before = process.cpuUsage()
  const check = await run()
  const { user, system } = process.cpuUsage(before)
  const sample: Sample = { cpuMs: (user + system) / 1000, check }
  process.stdout.write(JSON.stringify(sample))
}

function count<T>(items: T[], work: (item: T) => unknown): number {
  for (const item of items) work(item)
  return items.length
}

function sum<T>(items: T[], amount: (item: T) => number): number {
  return items.reduce((total, item) => total + amount(item), 0)
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

function cut(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  )
}

function streamOf(chunks: Buffer[]): Readable {
  let next = 0
  return new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      this.push(chunks[next] ?? null)
      next += 1
    },
  })
}
