// The long version of three proofs: 100,000 damaged logs, 1,000 writers and twice 1,000 hosts that die by SIGKILL. `pnpm soak`,
// about half an hour.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DamageLab, trial } from './support/damage.ts'
import { range } from './support/events.ts'
import { bundleHostProgram } from './support/host-program.ts'
import { bundleLog, killLoop } from './support/kill-loop.ts'
import { turnKillLoop } from './support/turn-kill-loop.ts'

const INJURIES = 100_000
const KILLS = 1_000
const WRITERS = 4
const HOSTS = 2

await soakDamage()
await soakKills()
await soakTurns()

async function soakDamage(): Promise<void> {
  const lab = await DamageLab.create(30)
  let failed = 0
  for (let seed = 0; seed < INJURIES; seed += 1) {
    const problems = await trial(lab, seed)
    if (problems.length === 0) continue
    failed += 1
    console.log(`seed ${seed}: ${problems.join('; ')}`)
  }
  lab.remove()
  report(`${INJURIES} damaged logs`, failed)
}

async function soakKills(): Promise<void> {
  const built = await bundleLog()
  const projectRoot = mkdtempSync(join(tmpdir(), 'chirality-soak-'))
  try {
    const loops = range(1, WRITERS).map(seed =>
      killLoop({ module: built.file, projectRoot, kills: KILLS / WRITERS, seed }),
    )
    const reports = await Promise.all(loops)
    const acknowledged = reports.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
    const failed = reports.reduce((sum, { lost, misplaced }) => sum + lost.length + misplaced.length, 0)
    report(`${KILLS} kills, ${acknowledged} acknowledged events`, failed)
  } finally {
    rmSync(projectRoot, { recursive: true, force: true })
    built.remove()
  }
}

async function soakTurns(): Promise<void> {
  const program = await bundleHostProgram()
  try {
    for (const keepAlive of [false, true]) {
      const loops = range(1, HOSTS).map(seed =>
        turnKillLoop(program.file, { kills: KILLS / HOSTS, seed, keepAlive }),
      )
      const problems = (await Promise.all(loops)).flatMap(loop => loop.problems)
      for (const problem of problems) console.log(problem)
      const agents = keepAlive ? 'kept from turn to turn' : 'of their own'
      report(`${KILLS} hosts killed in their turns, with agents ${agents}`, problems.length)
    }
  } finally {
    program.remove()
  }
}

function report(what: string, failed: number): void {
  console.log(`${failed === 0 ? 'ok' : 'FAIL'}  ${what}: ${failed} lost, altered or doubled`)
  if (failed > 0) process.exitCode = 1
}
