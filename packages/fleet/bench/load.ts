import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { type MachineProcess, ProcessFleet } from '../test/support/processes/process-fleet.ts'
import { median, percentile, range } from './statistics.ts'

interface Load {
  sessions: number
  perSecond: number
}

/** What a worker of many agents does, where parts of a log hold much, and one of few. */
const MANY: Load = { sessions: 200, perSecond: 100 }
const FEW: Load = { sessions: 10, perSecond: 50 }
const SECONDS = 8
const ROUNDS = 3
/** Open and idle, as a worker has them after some weeks. */
const RESTING = 160
const REST_MS = 10_000

interface Round {
  /** CPU time for each event, in µs: on a busy machine fewer of them are said. */
  alone: number
  inFleet: number
  broker: number
  perSecond: number
  lags: number[]
  missing: number
}

/** What shipping the logs costs a worker, and how late they are on the hub. */
export async function loadRows(): Promise<BenchRow[]> {
  return [...(await rowsOf(MANY)), ...(await rowsOf(FEW)), await restRow()]
}

/** CPU of a worker whose sessions do nothing, in percent of a core. */
async function restRow(): Promise<BenchRow> {
  const fleet = await ProcessFleet.start()
  try {
    const machines = [await fleet.alone('alone'), await fleet.machine('worker')]
    for (const machine of machines) await machine.send({ do: 'create', sessions: RESTING })
    const { sessionIds = [] } = (await machines[1]?.send({ do: 'running' })) ?? {}
    await fleet.hub.until({ do: 'knows' }, reply => sessionIds.every(id => reply.sessionIds?.includes(id)))
    const used = () =>
      Promise.all(machines.map(async machine => (await machine.send({ do: 'usage' })).cpuMs ?? Number.NaN))
    await sleep(REST_MS)
    const before = await used()
    await sleep(REST_MS)
    const [alone = Number.NaN, inFleet = Number.NaN] = (await used()).map((cpu, i) => cpu - (before[i] ?? 0))
    const percent = (cpu: number) => (cpu / REST_MS) * 100
    return benchRow({
      name: `${RESTING} sessions at rest: percent of a core that a worker takes`,
      ratio: percent(inFleet),
      bar: 2,
      better: 'lower',
      detail: `${percent(alone).toFixed(1)} without a fleet, load ${loadavg()[0]?.toFixed(0)}`,
    })
  } finally {
    await fleet.close()
  }
}

async function rowsOf(speech: Load): Promise<BenchRow[]> {
  const fleet = await ProcessFleet.start()
  try {
    const rounds: Round[] = []
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measure(fleet, { round, ...speech }))
    const ratios = rounds.map(({ inFleet, alone }) => inFleet / alone)
    const lags = rounds.map(one => percentile(one.lags, 0.5))
    const late = rounds.map(one => percentile(one.lags, 0.99))
    const each = (name: 'alone' | 'inFleet' | 'broker') => median(rounds.map(one => one[name])).toFixed(1)
    const rate = range(
      rounds.map(one => one.perSecond),
      0,
    )
    const load = `load ${loadavg()[0]?.toFixed(0)}`
    return [
      benchRow({
        name: `${speech.sessions} sessions × ${speech.perSecond} events/s: CPU of a worker, of one without a fleet`,
        ratio: median(ratios),
        bar: 1.5,
        better: 'lower',
        detail: `${ROUNDS} rounds ${range(ratios)}; ${each('inFleet')} against ${each('alone')} µs an event, broker ${each('broker')}; ${rate} events/s reached, ${load}`,
      }),
      benchRow({
        name: 'the same: events that are not on the hub',
        ratio: rounds.reduce((sum, one) => sum + one.missing, 0),
        bar: 0,
        better: 'lower',
        detail: `of ${rounds.reduce((sum, one) => sum + one.lags.length, 0)}`,
      }),
      benchRow({
        name: 'the same: from the worker’s log to a reader on the hub, p50 in ms',
        ratio: median(lags),
        bar: 250,
        better: 'lower',
        detail: `${ROUNDS} rounds ${range(lags, 0)}; p99 ${range(late, 0)}; ${load}`,
      }),
    ]
  } finally {
    await fleet.close()
  }
}

async function measure(
  fleet: ProcessFleet,
  { round, sessions, perSecond }: Load & { round: number },
): Promise<Round> {
  const speak = (machine: MachineProcess, made?: (sessionIds: string[]) => Promise<void>) =>
    speakOf(machine, { sessions, perSecond, made })
  // In turn, so that whatever else the machine does hits both alike.
  const measureAlone = async () => {
    const machine = await fleet.alone(`alone-${round}`)
    const { cpuMs = Number.NaN, events = Number.NaN } = await speak(machine)
    await machine.kill()
    return (cpuMs * 1000) / events
  }
  const before = round % 2 === 0 ? await measureAlone() : undefined
  const worker = await fleet.machine(`worker-${round}`)
  const { hub } = fleet
  const known = async (sessionIds: string[]) => {
    await hub.until({ do: 'knows' }, reply => sessionIds.every(id => reply.sessionIds?.includes(id)))
    await hub.send({ do: 'follow', sessionIds })
  }
  const { received: had = 0, lags: earlier = [] } = await hub.send({ do: 'received' })
  const brokerBefore = await fleet.brokerCpuMs()
  const { cpuMs = Number.NaN, events = Number.NaN, ms = Number.NaN, sizes = {} } = await speak(worker, known)
  const said = Object.values(sizes).reduce((sum, { seq }) => sum + seq, 0)
  const { received = 0, lags = [] } = await hub
    .until({ do: 'received' }, reply => (reply.received ?? 0) - had >= said)
    .catch(() => hub.send({ do: 'received' }))
  const broker = (await fleet.brokerCpuMs()) - brokerBefore
  await worker.kill()
  const perEvent = (cpu: number) => (cpu * 1000) / events
  return {
    alone: before ?? (await measureAlone()),
    inFleet: perEvent(cpuMs),
    broker: perEvent(broker),
    perSecond: (events / ms) * 1000,
    lags: lags.slice(earlier.length),
    missing: said - (received - had),
  }
}

async function speakOf(
  machine: MachineProcess,
  { sessions, perSecond, made }: Load & { made: ((sessionIds: string[]) => Promise<void>) | undefined },
) {
  const { sessionIds = [] } = await machine.send({ do: 'create', sessions })
  await made?.(sessionIds)
  return machine.send({ do: 'speak', perSecond, seconds: SECONDS })
}
