import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { isEnclosing } from '@chirality/runner'

export interface MarkedProcess {
  pid: number
  command: string
}

/** Every living process whose environment has this marker, as far as the system shows it. */
export function findMarked(marker: string): MarkedProcess[] {
  return process.platform === 'linux' ? fromProc(marker) : fromPs(marker)
}

/** What `process:exit` says of a run that left nothing: the number 0 only where the system lets us be sure of it. */
export function nothingLeft(): { leftRunning?: 0 } {
  return isEnclosing() ? { leftRunning: 0 } : {}
}

function fromProc(marker: string): MarkedProcess[] {
  return readdirSync('/proc').flatMap(name => {
    if (!/^\d+$/.test(name)) return []
    try {
      // A dead process that nobody has waited for has an empty one.
      if (!readFileSync(`/proc/${name}/environ`, 'latin1').includes(marker)) return []
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      return [{ pid: Number(name), command }]
    } catch {
      return []
    }
  })
}

function fromPs(marker: string): MarkedProcess[] {
  const lines = execFileSync('/bin/ps', ['-axwwE', '-o', 'pid=,command='], { encoding: 'utf8' }).split('\n')
  const marked = lines.filter(line => line.includes(marker))
  return marked.map(line => ({ pid: Number.parseInt(line, 10), command: line.trim() }))
}
