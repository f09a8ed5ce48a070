import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MachineProcess } from './process-fleet.ts'

export const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], { cwd, encoding: 'utf8' })

export function makeRepository(folder: string, files: number): void {
  mkdirSync(folder, { recursive: true })
  git(folder, 'init', '-q', '-b', 'main')
  writeFileSync(join(folder, '.gitignore'), '.chirality\n')
  for (let file = 0; file < files; file += 1) writeFileSync(join(folder, `file-${file}.txt`), `${file}\n`)
  git(folder, 'add', '.')
  git(folder, 'commit', '-qm', 'first')
}

/** The copy of a session after its turn comes to the hub by itself. */
export async function copied(hub: MachineProcess, machine: string, sessionId: string): Promise<void> {
  const file = join(hub.home, 'fleet', 'copies', machine, `${sessionId}.json`)
  const end = performance.now() + 60_000
  const seq = () => (existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { seq: number }).seq : 0)
  while (seq() < 2) {
    if (performance.now() > end) throw new Error(`No copy of ${sessionId} came.`)
    await sleep(50)
  }
}
