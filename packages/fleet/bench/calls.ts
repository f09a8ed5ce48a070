import { loadavg } from 'node:os'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { Link } from '../src/engine/link.ts'
import { callMachine } from '../src/rpc/calls.ts'
import { subjects } from '../src/subjects.ts'
import { ProcessFleet } from '../test/support/processes/process-fleet.ts'
import { median, percentile } from './statistics.ts'

const CALLS = 400

/** A call to a session on another machine, beside a request through the same broker that is answered as it is. */
export async function callRows(): Promise<BenchRow[]> {
  const fleet = await ProcessFleet.start()
  try {
    const worker = await fleet.machine('worker')
    await worker.send({ do: 'echo', member: await fleet.member('echo') })
    const { sessionIds: [sessionId] = [] } = await worker.send({ do: 'create', sessions: 1 })
    const link = await Link.open(await fleet.member('caller', 'hub'))
    const input = { sessionId }
    const body = Buffer.from(JSON.stringify({ path: 'sessions.get', input }))
    const bare = () => link.request(subjects.calls('echo'), body, 10_000)
    const call = () => callMachine(link, 'worker', { path: 'sessions.get', input })
    const times = { bare: [] as number[], call: [] as number[] }
    for (let round = 0; round < CALLS; round += 1) {
      // In turn, so that whatever else the machine does hits both alike.
      for (const name of round % 2 === 0 ? (['bare', 'call'] as const) : (['call', 'bare'] as const)) {
        const from = performance.now()
        await (name === 'bare' ? bare() : call())
        times[name].push(performance.now() - from)
      }
    }
    await link.close()
    const more = times.call.map((ms, round) => ms - (times.bare[round] ?? Number.NaN))
    return [
      benchRow({
        name: 'call to a session on another machine, over the bare request, in ms',
        ratio: median(more),
        bar: 1,
        better: 'lower',
        detail: `${CALLS} pairs; ${median(times.call).toFixed(2)} against ${median(times.bare).toFixed(2)} ms, p99 ${percentile(times.call, 0.99).toFixed(1)} against ${percentile(times.bare, 0.99).toFixed(1)}; load ${loadavg()[0]?.toFixed(0)}`,
      }),
    ]
  } finally {
    await fleet.close()
  }
}
