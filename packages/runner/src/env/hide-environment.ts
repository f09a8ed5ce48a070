import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import { copyOffStack, processEnv } from '../process/system/process-env.ts'
import { buildChildEnv } from './child-env.ts'

/**
 * Clears the variables in `/proc/PID/environ` of this process that a child would not receive. An agent's commands run
 * as the same user and could otherwise read every key of the server there. `process.env` is unchanged. Returns the
 * hidden names: none on a system without that file.
 */
export function hideEnvironment(): string[] {
  const source = processEnv()
  const { env } = buildChildEnv({ source })
  const hidden = Object.keys(source).filter(name => env[name] !== source[name] && !STAYS.test(name))
  // libc returns pointers into the bytes that are cleared below, so the values are copied first.
  for (const name of hidden) copyOffStack(name)
  return wipe(new Set(hidden)) ? hidden : []
}

/** The program loader keeps pointers to these. They hold no secrets. */
const STAYS = /^(LD_|DYLD_|GLIBC_|MALLOC_)/

function wipe(names: ReadonlySet<string>): boolean {
  try {
    const start = environmentStart()
    const environment = readFileSync('/proc/self/environ')
    const memory = openSync('/proc/self/mem', 'r+')
    try {
      const there = Buffer.alloc(environment.length)
      readSync(memory, there, 0, there.length, start)
      // Clears nothing rather than the wrong memory.
      if (!there.equals(environment)) return false
      const wiped = withoutValues(environment, names)
      return writeSync(memory, wiped, 0, wiped.length, start) === wiped.length
    } finally {
      closeSync(memory)
    }
  } catch {
    return false
  }
}

/** The address of the environment: field 50 of `/proc/PID/stat`. The program name, field 2, can contain spaces. */
function environmentStart(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const start = Number(fields[50 - 3])
  if (!Number.isSafeInteger(start) || start <= 0)
    throw new Error('The address of the environment is not known.')
  return start
}

/** The same bytes with NUL for the values of these names. */
function withoutValues(environment: Buffer, names: ReadonlySet<string>): Buffer {
  const wiped = Buffer.from(environment)
  for (let start = 0; start < wiped.length; ) {
    const nul = wiped.indexOf(0, start)
    const end = nul < 0 ? wiped.length : nul
    const equals = wiped.indexOf(0x3d, start)
    if (equals >= 0 && equals < end && names.has(wiped.toString('utf8', start, equals)))
      wiped.fill(0, equals + 1, end)
    start = end + 1
  }
  return wiped
}
