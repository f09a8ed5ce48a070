import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type ClusterNode, initCluster } from '../../src/engine/cluster.ts'
import type { Member } from '../../src/engine/fleet-files.ts'
import { Link } from '../../src/engine/link.ts'
import { folder, later } from './fleet.ts'
import { natsBinary, whenItWorks } from './nats.ts'

export interface TestCluster {
  home: string
  hub: Member
  kill: (node: number, signal?: 'SIGKILL' | 'SIGTERM') => Promise<void>
  start: (node: number) => void
  loseDisk: (node: number) => void
  /** Ports at which the brokers dial each other. */
  clusterPorts: number[]
  /** The running brokers. */
  running: () => number[]
}

/** A machine for each broker: its address, and the words before a command that is run on it. */
export type BrokerPlaces = readonly { host: string; enter: string[] }[]

/** Three real brokers, from the folders that `fleet init --nodes` writes: on loopback, or where they are put. */
export async function startCluster(places?: BrokerPlaces): Promise<TestCluster> {
  const home = folder()
  const ports = await freePorts(6)
  const nodes = [0, 1, 2].map(
    (at): ClusterNode => ({
      host: places?.[at]?.host ?? '127.0.0.1',
      port: ports[at] ?? 0,
      clusterPort: ports[at + 3] ?? 0,
    }),
  )
  const { member, folders } = await initCluster({ home, machine: 'hub', nodes })
  const binary = await natsBinary()
  const children = new Map<number, ChildProcess>()
  const start = (node: number) => {
    const [program = '', ...args] = [...(places?.[node]?.enter ?? []), binary, '-c', 'nats.conf']
    const child = spawn(program, args, { cwd: folders[node], stdio: 'ignore' })
    child.once('exit', () => children.get(node) === child && children.delete(node))
    children.set(node, child)
  }
  const kill = async (node: number, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL') => {
    const child = children.get(node)
    if (child === undefined) return
    const ended = new Promise(resolve => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }
  later(() => Promise.all([0, 1, 2].map(node => kill(node))))
  for (const node of [0, 1, 2]) start(node)
  // Elsewhere this process does not reach them.
  if (places === undefined) await whenItWorks(async () => (await Link.open(member)).close())
  return {
    home,
    hub: member,
    kill,
    start,
    clusterPorts: nodes.map(({ clusterPort }) => clusterPort),
    loseDisk: node => {
      for (const name of ['store', 'accounts'])
        rmSync(join(folders[node] ?? '', name), { recursive: true, force: true })
    },
    running: () => [...children.keys()],
  }
}

/** All at once, so that none of them is given twice. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports = await Promise.all(
    servers.map(
      server =>
        new Promise<number>(resolve =>
          server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
        ),
    ),
  )
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}
