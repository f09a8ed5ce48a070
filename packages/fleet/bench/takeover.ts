import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { copied, git, makeRepository } from '../test/support/processes/copied-session.ts'
import { type MachineProcess, ProcessFleet } from '../test/support/processes/process-fleet.ts'
import { WAIT } from '../test/support/processes/speaking-agent.ts'
import { median, range } from './statistics.ts'

const ROUNDS = 3
const FILES = 200

/** A machine is killed in the middle of a turn. Counted from when the hub calls it gone until another one's agent is asked to go on. */
export async function takeoverRows(): Promise<BenchRow[]> {
  const fleet = await ProcessFleet.start()
  try {
    const source = fleet.folder('source')
    makeRepository(source, FILES)
    const clone = fleet.folder('clone')
    git(source, 'clone', '-q', source, clone)
    const target = await fleet.machine('target', { project: clone })
    const workers: { name: string; machine: MachineProcess }[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const name = `worker-${round}`
      const project = fleet.folder(`work-${round}`)
      git(source, 'clone', '-q', source, project)
      workers.push({ name, machine: await fleet.machine(name, { project }) })
    }
    const times: number[] = []
    const steps = new Map<string, number[]>()
    for (const { name, machine } of workers) {
      writeFileSync(join(machine.project, 'new.txt'), 'not committed\n')
      const { sessionIds: [sessionId = ''] = [] } = await machine.send({ do: 'create', sessions: 1 })
      await copied(fleet.hub, name, sessionId)
      await machine.send({ do: 'turn', sessionId, message: WAIT })
      await machine.kill()
      const { hub } = fleet
      await hub.until({ do: 'machines' }, ({ states }) => states?.[name] === 'away')
      const asked = target.send({ do: 'asked' })
      const taken = await hub.send({ do: 'takeover', sessionId, to: 'target' })
      const { at = Number.NaN } = await asked
      times.push(at - (taken.at ?? Number.NaN))
      for (const { step, ms } of taken.steps ?? []) steps.set(step, [...(steps.get(step) ?? []), ms])
    }
    return [
      benchRow({
        name: 'takeover, from "gone" to the agent that is asked to go on, in ms',
        ratio: median(times),
        bar: 5_000,
        better: 'lower',
        detail: `${ROUNDS} machines ${range(times, 0)}; ${FILES} files, an agent that starts at once; load ${loadavg()[0]?.toFixed(0)}; steps: ${[...steps].map(([step, ms]) => `${step} ${Math.round(median(ms))}`).join(', ')}`,
      }),
    ]
  } finally {
    await fleet.close()
  }
}
