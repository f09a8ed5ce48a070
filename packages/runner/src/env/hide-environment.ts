import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import { copyOffStack, processEnv } from '../process/system/process-env.ts'
import { buildChildEnv } from './child-env.ts'

/**
 * Takes out of `/proc/PID/environ` of this process what a child of it would not be given. Whatever an agent runs is the same user, and
 * reads there otherwise every key that the server was started with. The variables themselves stay as they are, for us.
 * Returns the names that are hidden: none on a system without that file, which has no way to do it.
 */
export function hideEnvironment(): string[] {
  const source = processEnv()
  const { env } = buildChildEnv({ source })
  const hidden = Object.keys(source).filter(name => env[name] !== source[name] && !STAYS.test(name))
  // libc hands out pointers into the very bytes that are wiped below.
  for (const name of hidden) copyOffStack(name)
  return wipe(new Set(hidden)) ? hidden : []
}

/** What the loader of the program keeps pointers to. No secrets. */
const STAYS = /^(LD_|DYLD_|GLIBC_|MALLOC_)/

function wipe(names: ReadonlySet<string>): boolean {
  try {
    const start = environmentStart()
    const environment = readFileSync('/proc/self/environ')
    const memory = openSync('/proc/self/mem', 'r+')
    try {
      const there = Buffer.alloc(environment.length)
      readSync(memory, there, 0, there.length, start)
      // Better all of it than something else of ours.
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

/** Where the kernel put the environment: field 50 of `/proc/PID/stat`. The name of the program, field 2, may have spaces in it. */
function environmentStart(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const start = Number(fields[50 - 3])
  if (!Number.isSafeInteger(start) || start <= 0)
    throw new Error('The address of the environment is not known.')
  return start
}

/** The same bytes, with NUL for the values of these names. */
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
