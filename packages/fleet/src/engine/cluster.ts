import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { connect, jwtAuthenticator } from '@nats-io/transport-node'
import { fleetError } from '../fleet-error.ts'
import { machineNameOf } from '../subjects.ts'
import { hostPort, parseHost, shortened } from './address.ts'
import { makeCertificate } from './certificate.ts'
import {
  type ClusterAccounts,
  clusterAccounts,
  machineCredential,
  newClusterKeys,
  systemCredential,
} from './credentials.ts'
import {
  type BrokerFile,
  brokerFolder,
  type Member,
  newKey,
  requireName,
  requireNoMember,
  serversOf,
  write,
  writeBroker,
  writeMember,
} from './fleet-files.ts'
import { connectionRefusal } from './refusal.ts'

/** A broker of a cluster: the address for machines, and the port for the other brokers. */
export interface ClusterNode {
  host: string
  port: number
  clusterPort: number
}

/** Parses `a.example,b.example:4300,192.0.2.3`. There are three brokers so that two remain when one fails. */
export function parseNodes(text: string): ClusterNode[] {
  const nodes = text.split(',').map(part => {
    const { host, port } =
      /^(?<host>[^[\]:]+|\[[^[\]]+\])(?::(?<port>\d{1,5}))?$/.exec(part.trim())?.groups ?? {}
    const number = port === undefined ? DEFAULT_PORT : Number(port)
    if (host === undefined || number < 1 || number + CLUSTER_PORTS > 65_535)
      throw fleetError(
        'fleet-refused',
        `${shortened(part)} is no address. Write HOST or HOST:PORT, with a port up to ${65_535 - CLUSTER_PORTS}.`,
      )
    return { host: parseHost(host), port: number, clusterPort: number + CLUSTER_PORTS }
  })
  const places = new Set(nodes.map(({ host, port }) => `${host}:${port}`))
  if (nodes.length !== 3 || places.size !== 3)
    throw fleetError('fleet-refused', 'A cluster has three brokers at three addresses: --nodes a,b,c.')
  return nodes
}

/**
 * Makes this machine the first hub of a fleet with three brokers, and writes one folder per broker: configuration, TLS,
 * a systemd unit and a compose file. The brokers run at their addresses; this machine starts none of them.
 */
export async function initCluster(options: {
  home: string
  machine?: string
  nodes: readonly ClusterNode[]
}): Promise<{ member: Member; folders: string[] }> {
  const { home, machine = machineNameOf(hostname()), nodes } = options
  requireName(machine)
  await requireNoMember(home)
  const authority = makeCertificate([FLEET])
  const keys = newClusterKeys()
  const accounts = clusterAccounts(keys, {})
  const folders: string[] = []
  for (const [at, node] of nodes.entries()) {
    const folder = join(brokerFolder(home), `node-${at + 1}`)
    const { cert, key } = makeCertificate([node.host, 'localhost', '127.0.0.1'], authority)
    const name = `broker-${at + 1}`
    await write(join(folder, 'cert.pem'), cert)
    await write(join(folder, 'key.pem'), key)
    await write(join(folder, 'ca.pem'), authority.cert)
    await write(join(folder, 'nats.conf'), nodeConfig(name, node, nodes, accounts))
    await write(join(folder, 'chirality-broker.service'), UNIT)
    await write(join(folder, 'compose.yaml'), COMPOSE)
    folders.push(folder)
  }
  const { seed, key } = newKey()
  const addedAt = new Date().toISOString()
  const [first] = nodes
  await writeBroker(home, {
    host: first?.host ?? '',
    port: first?.port ?? 0,
    invitations: [],
    machines: [{ machine, role: 'hub', key, addedAt }],
    cluster: { keys, revoked: {} },
  })
  const url = nodes.map(({ host, port }) => `tls://${hostPort({ host, port })}`).join(',')
  const jwt = machineCredential(keys, key, machine, 'hub')
  const member: Member = { machine, role: 'hub', url, seed, cert: authority.cert, jwt }
  await writeMember(home, member)
  return { member, folders }
}

/** Sends the revoked keys to the brokers, which pass them on to each other and cut the connections. */
export async function tellBrokers(
  { cluster }: Pick<BrokerFile, 'cluster'>,
  { url, cert }: Pick<Member, 'url' | 'cert'>,
): Promise<void> {
  if (cluster === undefined) return
  const { seed, key } = newKey()
  const credential = systemCredential(cluster.keys, key)
  const connection = await connect({
    servers: serversOf(url),
    authenticator: jwtAuthenticator(credential, new TextEncoder().encode(seed)),
    tls: { ca: cert },
    reconnect: false,
    timeout: TELL_MS,
    ignoreClusterUpdates: true,
  }).catch((error: unknown) => {
    const { message } = connectionRefusal(error, { url, cert })
    throw fleetError('fleet-no-broker', `${message} No broker was told. Try it again.`, error)
  })
  try {
    const { jwt } = clusterAccounts(cluster.keys, cluster.revoked).account
    const answer = await connection.request('$SYS.REQ.CLAIMS.UPDATE', jwt, { timeout: TELL_MS })
    const said = answer.json<{ data?: { code?: number }; error?: { description?: string } }>()
    if (said.data?.code !== 200)
      throw fleetError(
        'fleet-no-broker',
        `The broker did not accept the change: ${said.error?.description ?? 'no reason'}.`,
      )
  } finally {
    await connection.close()
  }
}

/** Configuration of one broker. Its paths are relative to the folder, which is copied to the broker's machine. */
function nodeConfig(
  name: string,
  node: ClusterNode,
  nodes: readonly ClusterNode[],
  { operator, account, system }: ClusterAccounts,
): string {
  const routes = nodes
    .filter(other => other !== node)
    .map(({ host, clusterPort }) => `"nats-route://${hostPort({ host, port: clusterPort })}"`)
  // Listens on all addresses for a name, because it may resolve only on other machines.
  const listen = (port: number) =>
    JSON.stringify(hostPort({ host: isIP(node.host) === 0 ? '0.0.0.0' : node.host, port }))
  return `# Written by \`chirality fleet init --nodes\`.
server_name: ${name}
listen: ${listen(node.port)}
max_payload: 8388608
ping_interval: "5s"
ping_max: 2
tls { cert_file: "cert.pem", key_file: "key.pem", timeout: 10 }
jetstream { store_dir: "store", sync_interval: always }
cluster {
  name: chirality
  listen: ${listen(node.clusterPort)}
  no_advertise: true
  ping_interval: "5s"
  tls { cert_file: "cert.pem", key_file: "key.pem", ca_file: "ca.pem", verify: true, timeout: 10 }
  routes: [${routes.join(', ')}]
}
operator: ${operator}
system_account: ${system.key}
resolver { type: full, dir: "accounts", interval: "10s" }
resolver_preload: {
  ${account.key}: ${account.jwt}
  ${system.key}: ${system.jwt}
}
`
}

const FLEET = 'fleet.chirality.invalid'
const DEFAULT_PORT = 4222
const CLUSTER_PORTS = 2000
const TELL_MS = 10_000

/**
 * Unit for the user's systemd. It restarts for ever, because systemd gives up after five tries by default and a
 * broker's address may come up late at boot. PATH includes `sbin`, which holds programs of the distribution and is
 * missing from some users' PATH.
 */
const UNIT = `[Unit]
Description=Broker of a Chirality fleet
StartLimitIntervalSec=0

[Service]
WorkingDirectory=%h/chirality-broker
Environment=PATH=%h/.local/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin
ExecStart=/usr/bin/env nats-server -c nats.conf
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=1
TimeoutStopSec=30
LimitNOFILE=65536
UMask=0077
NoNewPrivileges=true

[Install]
WantedBy=default.target
`

/** The files belong to the user who copied them, so root in the container needs DAC_OVERRIDE to write to them. */
const COMPOSE = `services:
  broker:
    image: nats:2.10-alpine
    command: ["-c", "nats.conf"]
    working_dir: /broker
    volumes: [".:/broker"]
    network_mode: host
    restart: unless-stopped
    stop_grace_period: 30s
    read_only: true
    cap_drop: [ALL]
    cap_add: [DAC_OVERRIDE]
    security_opt: ["no-new-privileges:true"]
    ulimits: { nofile: 65536 }
    logging: { driver: json-file, options: { max-size: 10m, max-file: "3" } }
`
