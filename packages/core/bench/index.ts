import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { codexRows } from './codex.ts'
import { claudeCorpus } from './corpus.ts'
import { cpuMs, cpuRatios, measure, median, spread } from './measure.ts'
import { type BenchRow, benchRow, reportBench } from './report.ts'

const CORPUS_MB = 100
const ROUNDS = 11
const VARIANTS = fileURLToPath(new URL('./variants.ts', import.meta.url))

const folder = mkdtempSync(path.join(os.tmpdir(), 'chirality-bench-'))
try {
  reportBench('@chirality/core', [
    ...(await corpusRows()),
    ...(await codexRows(folder, ROUNDS)),
    ...(await hugeLineRows()),
  ])
} finally {
  rmSync(folder, { recursive: true })
}

async function corpusRows(): Promise<BenchRow[]> {
  const file = path.join(folder, 'corpus.ndjson')
  writeFileSync(file, claudeCorpus(CORPUS_MB * 1e6))
  const names = ['bare', 'framer', 'translate', 'framer-stream', 'readline-stream']
  const rounds = await measure(
    names.map(name => ({ name, args: [VARIANTS, name, file] })),
    ROUNDS,
  )
  const speed = (name: string, against: string, bar: number): Omit<BenchRow, 'pass' | 'name'> => {
    const ratios = cpuRatios(rounds, against, name)
    const rate = CORPUS_MB / (median(rounds.map(round => cpuMs(round, name))) / 1000)
    return {
      ratio: median(ratios),
      bar,
      better: 'higher',
      detail: `${spread(ratios)}, ${rate.toFixed(0)} MB/s`,
    }
  }
  return [
    benchRow({ name: 'frame + parse, of bare JSON.parse on split lines', ...speed('framer', 'bare', 0.85) }),
    benchRow({ name: 'frame + parse + translate, of the same', ...speed('translate', 'bare', 0.6) }),
    benchRow({
      name: 'frame + parse a stream, of readline',
      ...speed('framer-stream', 'readline-stream', 1.4),
    }),
  ]
}

async function hugeLineRows(): Promise<BenchRow[]> {
  const chunkKb = [64, 8]
  const variants = [
    { name: 'parse 50', args: [VARIANTS, 'line', '50'] },
    ...chunkKb.flatMap(kb => [10, 50].map(mb => lineVariant(mb, kb))),
  ]
  const rounds = await measure(variants, ROUNDS)
  return chunkKb.flatMap(kb => [
    lowerIsBetter(`a 50 MB line in ${kb} KB chunks, of one JSON.parse`, {
      ratios: cpuRatios(rounds, `50 in ${kb}`, 'parse 50'),
      bar: 1.7,
    }),
    lowerIsBetter(`cost per MB, 50 MB line to 10 MB line, ${kb} KB chunks`, {
      ratios: cpuRatios(rounds, `50 in ${kb}`, `10 in ${kb}`).map(ratio => ratio / 5),
      bar: 1.4,
    }),
  ])
}

function lineVariant(mb: number, kb: number) {
  return { name: `${mb} in ${kb}`, args: [VARIANTS, 'line', String(mb), String(kb * 1024)] }
}

function lowerIsBetter(name: string, { ratios, bar }: { ratios: number[]; bar: number }): BenchRow {
  return benchRow({ name, ratio: median(ratios), bar, better: 'lower', detail: spread(ratios) })
}
