import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { findByMarker } from '@chirality/runner'
import type { HostWorld } from './host-world.ts'

/** The disk of the project. While it is full, what an agent prints is lost. */
export interface SmallDisk {
  fill(): Promise<void>
  free(): Promise<void>
}

/**
 * A real one of 12 MB, mounted where the project is. Whoever may not mount makes the writes of the agents fail in another real way: by
 * the limit on the size of their files.
 */
export function mountSmallDisk(world: HostWorld): SmallDisk {
  if (process.platform === 'darwin') mountOnMac(world)
  else if (process.getuid?.() === 0) mountTmpfs(world)
  else return limitFiles(world)
  const filler = join(world.project, 'filler')
  return { fill: async () => fill(filler), free: async () => rmSync(filler) }
}

function mountTmpfs({ project, atEnd }: HostWorld): void {
  run('mount', '-t', 'tmpfs', '-o', 'size=12m,mode=0700', 'tmpfs', project)
  atEnd(async () => void run('umount', '--lazy', project))
}

function mountOnMac({ project, atEnd }: HostWorld): void {
  const device = run('hdiutil', 'attach', '-nomount', 'ram://24576').trim()
  run('newfs_hfs', device)
  run('diskutil', 'mount', '-mountPoint', project, device)
  atEnd(async () => void run('hdiutil', 'detach', '-force', device))
}

/** Half a line more than the largest raw log has, so that the next write is cut. */
function limitFiles({ marker, file }: HostWorld): SmallDisk {
  const limit = async (size: string) => {
    for (const { pid } of await findByMarker(marker))
      run('prlimit', '--pid', String(pid), `--fsize=${size}:unlimited`)
  }
  const sizes = (folder: string): number[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => statSync(join(folder, name)).size)
  return {
    fill: () => limit(String(Math.max(...sizes(file('logs'))) + 150)),
    free: () => limit('unlimited'),
  }
}

/** To the last byte: in ever smaller pieces. */
function fill(path: string): void {
  const fd = openSync(path, 'w')
  for (let size = 1 << 20; size >= 1; size >>= 1) while (takes(fd, size));
  closeSync(fd)
}

function takes(fd: number, size: number): boolean {
  try {
    return writeSync(fd, Buffer.alloc(size)) === size
  } catch {
    return false
  }
}

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { encoding: 'utf8' })
}
