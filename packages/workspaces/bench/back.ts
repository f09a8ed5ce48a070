import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { FileMoves, findRepository, goBack, takeSnapshot } from '../src/index.ts'
import { median, timed } from './measures.ts'

const FILES = 10_000
const ROUNDS = 5

/** Taking a turn back that changed many files, beside the check-out of the same files by git. */
export async function backRows(): Promise<BenchRow[]> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-bench-')))
  try {
    const repository = initRepository(path.join(folder, 'shop'))
    const names = Array.from({ length: FILES }, (_, n) => `src/part-${n % 100}/file-${n}.ts`)
    const writeAll = (text: string) => {
      for (const [n, name] of names.entries()) repository.write(name, `${text} ${n}\n`.repeat(20))
    }
    writeAll('before')
    repository.run('add', '--all')
    repository.run('-c', 'user.name=A', '-c', 'user.email=a@example', 'commit', '--quiet', '-m', 'Before')
    // As a clone is. Git packs by itself now and then, which would fall into one of the rounds.
    repository.run('config', 'gc.auto', '0')
    repository.run('repack', '-a', '-d', '--quiet')
    const stateFolder = path.join(folder, 'state')
    mkdirSync(stateFolder)
    const opened = await findRepository(repository.root)
    if (opened === undefined) throw new Error('There is no repository.')
    const moves = new FileMoves(opened, 'bench')
    const { tree: before } = await takeSnapshot(opened, stateFolder)
    const ours: number[] = []
    const plain: number[] = []
    const cpu = { ours: [] as number[], plain: [] as number[] }
    for (let round = 0; round < ROUNDS; round += 1) {
      writeAll(`agent ${round}`)
      const { tree: after } = await takeSnapshot(opened, stateFolder)
      const turns = [{ before, after }]
      const back = { turns, stateFolder, overwrite: [], what: 'Back', cause: { kind: 'fork' } as const }
      const taken = await timed(() => goBack(opened, moves, back))
      if (taken.result?.files.length !== FILES) throw new Error('Not all files went back.')
      writeAll(`agent ${round}`)
      const checkedOut = await timed(async () => repository.run('checkout', '--quiet', '--', '.'))
      ours.push(taken.ms)
      plain.push(checkedOut.ms)
      cpu.ours.push(taken.cpuMs)
      cpu.plain.push(checkedOut.cpuMs)
    }
    const ratio = median(ours) / median(plain)
    const seconds = (times: number[]) => `${(median(times) / 1000).toFixed(2)} s`
    const detail = `${FILES} files: ${seconds(ours)} against ${seconds(plain)}; CPU ${seconds(cpu.ours)} against ${seconds(cpu.plain)}`
    return [benchRow({ name: 'going back, of git checkout', ratio, bar: 3, better: 'lower', detail })]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
