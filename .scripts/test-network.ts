import { execFileSync } from 'node:child_process'

/** Machines in network namespaces of their own, on one bridge. Only root can make them. */
export interface TestNetwork<Name extends string> {
  /** The words before a command that is run on the machine. */
  enter(name: Name): string[]
  /** Its wire is pulled: nothing arrives in either direction, and no connection is told. */
  unplug(name: Name): void
  plug(name: Name): void
  close(): void
}

/** Undefined where namespaces cannot be made. */
export function makeTestNetwork<Name extends string>(
  addresses: Readonly<Record<Name, string>>,
): TestNetwork<Name> | undefined {
  const tag = `chi${process.pid.toString(36)}${Math.floor(Math.random() * 1296).toString(36)}`
  const named = (name: string) => `${tag}-${name}`
  if (process.getuid?.() !== 0 || !canAdd(named('try'))) return undefined
  const made: string[] = []
  const add = (name: string) => {
    ip('netns', 'add', named(name))
    made.push(named(name))
  }
  const close = () => {
    for (const name of made.splice(0)) ip('netns', 'del', name)
  }
  const names = Object.keys(addresses) as Name[]
  const inWires = (...args: string[]) => ip('-n', named('wires'), 'link', ...args)
  const wire = (name: Name) => `wire${names.indexOf(name)}`
  try {
    add('wires')
    inWires('add', 'bridge', 'type', 'bridge')
    inWires('set', 'bridge', 'up')
    for (const name of names) {
      add(name)
      const pair = ['type', 'veth', 'peer', 'name', 'eth0', 'netns', named(name)]
      inWires('add', wire(name), ...pair)
      inWires('set', wire(name), 'master', 'bridge', 'up')
      ip('-n', named(name), 'address', 'add', `${addresses[name]}/24`, 'dev', 'eth0')
      for (const device of ['lo', 'eth0']) ip('-n', named(name), 'link', 'set', device, 'up')
    }
  } catch (error) {
    close()
    throw error
  }
  return {
    enter: name => ['ip', 'netns', 'exec', named(name)],
    unplug: name => inWires('set', wire(name), 'down'),
    plug: name => inWires('set', wire(name), 'up'),
    close,
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

function canAdd(name: string): boolean {
  try {
    ip('netns', 'add', name)
    ip('netns', 'del', name)
    return true
  } catch {
    return false
  }
}
