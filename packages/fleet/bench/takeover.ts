import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { BenchFleet } from './machine.ts'
import { WAIT } from './speaking-agent.ts'
import { median, range } from './statistics.ts'

const ROUNDS = 3
const FILES = 200

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], { cwd, encoding: 'utf8' })

/** A machine is killed in the middle of a turn. Counted from when the hub calls it gone until another one's agent is asked to go on. */
export async function takeoverRows(): Promise<BenchRow[]> {
  const fleet = await BenchFleet.start()
  try {
    const source = fleet.folder('source')
    makeRepository(source)
    const clone = fleet.folder('clone')
    git(source, 'clone', '-q', source, clone)
    const target = await fleet.machine('target', clone)
    const workers = await Promise.all(
      Array.from({ length: ROUNDS }, async (_, round) => {
        const project = fleet.folder(`work-${round}`)
        git(source, 'clone', '-q', source, project)
        return { name: `worker-${round}`, machine: await fleet.machine(`worker-${round}`, project) }
      }),
    )
    const times: number[] = []
    for (const { name, machine } of workers) {
      writeFileSync(join(machine.project, 'new.txt'), 'not committed\n')
      const { sessionIds: [sessionId = ''] = [] } = await machine.send({ do: 'create', sessions: 1 })
      await copied(fleet, name, sessionId)
      await machine.send({ do: 'turn', sessionId, message: WAIT })
      await machine.kill()
      const { hub } = fleet
      await hub.until({ do: 'machines' }, ({ states }) => states?.[name] === 'away')
      const asked = target.send({ do: 'asked' })
      const { at: from = Number.NaN } = await hub.send({ do: 'takeover', sessionId, to: 'target' })
      const { at = Number.NaN } = await asked
      times.push(at - from)
    }
    return [
      benchRow({
        name: 'takeover, from "gone" to the agent that is asked to go on, in ms',
        ratio: median(times),
        bar: 5_000,
        better: 'lower',
        detail: `${ROUNDS} machines ${range(times, 0)}; ${FILES} files, an agent that starts at once; load ${loadavg()[0]?.toFixed(0)}`,
      }),
    ]
  } finally {
    await fleet.close()
  }
}

function makeRepository(folder: string): void {
  mkdirSync(folder, { recursive: true })
  git(folder, 'init', '-q', '-b', 'main')
  writeFileSync(join(folder, '.gitignore'), '.chirality\n')
  for (let file = 0; file < FILES; file += 1) writeFileSync(join(folder, `file-${file}.txt`), `${file}\n`)
  git(folder, 'add', '.')
  git(folder, 'commit', '-qm', 'first')
}

/** The copy of a session after its turn comes to the hub by itself. */
async function copied(fleet: BenchFleet, machine: string, sessionId: string): Promise<void> {
  const file = join(fleet.hub.home, 'fleet', 'copies', machine, `${sessionId}.json`)
  const end = performance.now() + 60_000
  const seq = () => (existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { seq: number }).seq : 0)
  while (seq() < 2) {
    if (performance.now() > end) throw new Error(`No copy of ${sessionId} came.`)
    await sleep(50)
  }
}
