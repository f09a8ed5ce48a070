import { type BenchRow, benchRow } from '../../../core/bench/report.ts'
import { median, percentile, spread } from '../statistics.ts'
import { runLoad } from './run-load.ts'

const ROUNDS = 3
const SECONDS = 4
/** Longer is seen. No window is fixed at this: the pulse in which busy agents are read follows what its rounds cost. */
const SEEN_MS = 100

/** From an agent's write to a client, beside the least that can be done: pipe to socket, with nothing read and nothing kept. */
export async function endToEndRows(): Promise<BenchRow[]> {
  return [await idleRow(), ...(await loadRows(50)), ...(await loadRows(200))]
}

async function idleRow(): Promise<BenchRow> {
  const rounds: { limit: number; product: number }[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const load = { agents: 1, perSecond: 20, seconds: SECONDS }
    const limit = percentile((await runLoad('limit', load)).latencies, 0.5)
    const product = percentile((await runLoad('product', load)).latencies, 0.5)
    rounds.push({ limit, product })
  }
  const typical = (of: 'limit' | 'product') => median(rounds.map(round => round[of])).toFixed(2)
  return benchRow({
    name: 'idle: agent to client, p50 of the limit',
    ratio: median(rounds.map(({ product, limit }) => product / limit)),
    bar: 1.5,
    better: 'lower',
    detail: `${typical('product')} ms against ${typical('limit')} ms`,
  })
}

async function loadRows(agents: number): Promise<BenchRow[]> {
  const late: number[] = []
  const cpu: number[] = []
  const lost: number[] = []
  const details: string[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const load = { agents, perSecond: 100, seconds: SECONDS }
    const limit = await runLoad('limit', load)
    const product = await runLoad('product', load)
    const [limitP99, p99] = [percentile(limit.latencies, 0.99), percentile(product.latencies, 0.99)]
    late.push(p99 / Math.max(SEEN_MS, 3 * limitP99))
    cpu.push(product.cpuMs / limit.cpuMs)
    lost.push(product.lost)
    details.push(`${p99.toFixed(1)}/${limitP99.toFixed(1)}`)
  }
  const name = `${agents} agents × 100/s`
  const p99s = `p99 in ms, of the limit: ${details.join(', ')}`
  return [
    benchRow({
      name: `${name}: p99 / 100 ms, or three times the limit's`,
      ratio: median(late),
      bar: 1,
      better: 'lower',
      detail: p99s,
    }),
    benchRow({
      name: `${name}: CPU, of the limit`,
      ratio: median(cpu),
      bar: 1.25,
      better: 'lower',
      detail: spread(cpu),
    }),
    benchRow({ name: `${name}: events lost`, ratio: Math.max(...lost), bar: 0, better: 'lower', detail: '' }),
  ]
}
