import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { enclose, openRunGroup } from '../system/run-group.ts'
import { toSpawnError } from './spawn-error.ts'

export interface StartOptions extends Omit<SpawnOptions, 'stdio' | 'shell'> {
  cwd?: string
  /** Streams are pipes, or go to a file or nowhere. */
  stdio: ['pipe' | 'ignore', 'pipe' | 'ignore' | number, 'pipe' | 'ignore' | number, ...'pipe'[]]
  /** The markers of the cgroups that it runs in, outermost first. */
  enclosed?: readonly string[]
}

/** A program that runs. A stream that is not a pipe is null. */
export interface StartedProgram {
  readonly child: ChildProcess
  readonly pid: number
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
}

/**
 * Starts a program; the only place that does. Rejects with a SpawnError if it does not start. Without a free file
 * descriptor Node gives a child that has no streams, and throws its error where nobody listens: that would end this
 * process. The caller has to add its listeners without waiting for anything else.
 */
export async function startProgram(
  command: string,
  args: readonly string[],
  { enclosed, ...options }: StartOptions,
): Promise<StartedProgram> {
  try {
    const child = spawn(command, args, { ...options, shell: false })
    // Also later: a signal that cannot be sent is an error of the child, too.
    child.on('error', () => {})
    // A program that exits without reading its input would end this process with EPIPE.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => {})
    if (enclosed !== undefined) enclose(child.pid, ...enclosed)
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
    const { pid, stdin, stdout, stderr } = child
    if (pid === undefined) throw new Error('The process has no id.')
    return { child, pid, stdin, stdout, stderr }
  } catch (error) {
    throw await toSpawnError(error, command, options.cwd ?? process.cwd())
  }
}

/**
 * Starts a command in a shell that joins the cgroups by itself before the command begins. A command is not moved there
 * after its start: by then it may have left a daemon outside.
 */
export function startShell(
  shell: string,
  command: string,
  { enclosed, ...options }: StartOptions & { enclosed: readonly string[] },
): Promise<StartedProgram> {
  const group = openRunGroup(...enclosed)
  const args = group === undefined ? ['-c', command] : ['-c', JOIN, shell, group, command]
  return startProgram(shell, args, { ...options, enclosed })
}

const JOIN = '{ echo 0 > "$1"; } 2> /dev/null; exec "$0" -c "$2"'
