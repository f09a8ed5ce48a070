import { execFile } from 'node:child_process'
import { readdirSync, readlinkSync } from 'node:fs'

/** Files below `folder` that this process holds open. */
export async function openFiles(folder: string): Promise<string[]> {
  const paths = process.platform === 'linux' ? fromProc() : await fromLsof()
  return paths.filter(path => path.startsWith(folder))
}

function fromProc(): string[] {
  return readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      // The descriptor that listed the folder.
      return []
    }
  })
}

function fromLsof(): Promise<string[]> {
  return new Promise(resolve => {
    execFile('lsof', ['-Fn', '-p', String(process.pid)], (_error, stdout) => {
      resolve(stdout.split('\n').flatMap(line => (line.startsWith('n') ? [line.slice(1)] : [])))
    })
  })
}
