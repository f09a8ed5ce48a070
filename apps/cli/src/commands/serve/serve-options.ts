import { readFile } from 'node:fs/promises'
import { type MemoryLimit, parseMemoryLimit, processEnv } from '@chirality/runner'
import type { Exposed } from '@chirality/server'
import { UsageError } from '../../exit-code.ts'
import { readOptions, wholeNumber } from '../../options.ts'

export interface ServeOptions {
  projects: string[]
  port?: number
  host?: string
  exposed?: Exposed
  /** Reached through the user's tailnet: `tailscale serve` is in front. */
  tailscale: boolean
  publicOrigins: string[]
  /** Further variables that every agent gets. */
  allowEnv: string[]
  open: boolean
  demo: boolean
  json: boolean
  /** Agents go on running when the server stops, and the next server adopts them. */
  leaveAgents: boolean
  /** The memory limit of agents that are kept between turns. */
  keepMemory?: MemoryLimit
  /** The fleet that this machine is one of. */
  fleet?: { url: string; labels: string[]; slots?: number; noCopies?: boolean }
}

export async function readServeOptions(args: string[]): Promise<ServeOptions> {
  const [projects, afterProjects] = takeRepeated(args, 'project')
  const [publicOrigins, afterOrigins] = takeRepeated(afterProjects, 'origin')
  const [allowEnv, afterEnv] = takeRepeated(afterOrigins, 'allow-env')
  const [labels, afterLabels] = takeRepeated(afterEnv, 'label')
  const [way, rest] = takeExposeWay(afterLabels)
  const { values, positionals } = readOptions(rest, OPTIONS)
  if (positionals.length > 0)
    throw new UsageError(`Unexpected argument "${positionals[0]}". Projects are named with --project.`)
  const port = wholeNumber('port', values.port, { min: 0, max: MAX_PORT })
  const tailscale = way === 'tailscale'
  if (tailscale) checkTailscale(values)
  const exposed = await exposure(values)
  return {
    ...{ projects, publicOrigins, allowEnv, port, host: values.host, exposed, tailscale },
    open: !values['no-open'],
    demo: values.demo ?? false,
    json: values.json ?? false,
    leaveAgents: values['leave-agents'] ?? false,
    keepMemory: memoryLimit(values['keep-memory'] ?? processEnv()[KEEP_VARIABLE]),
    fleet: fleetOf(values, labels),
  }
}

const OPTIONS = {
  port: { type: 'string' },
  host: { type: 'string' },
  'no-open': { type: 'boolean' },
  demo: { type: 'boolean' },
  json: { type: 'boolean' },
  'leave-agents': { type: 'boolean' },
  'keep-memory': { type: 'string' },
  expose: { type: 'boolean' },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'behind-proxy': { type: 'boolean' },
  'proxy-address': { type: 'string' },
  fleet: { type: 'string' },
  slots: { type: 'string' },
  'no-copies': { type: 'boolean' },
} as const

const MAX_PORT = 65_535
const KEEP_VARIABLE = 'CHIRALITY_KEEP_MEMORY'

function memoryLimit(text: string | undefined): MemoryLimit | undefined {
  if (text === undefined) return undefined
  const limit = parseMemoryLimit(text)
  if (limit !== undefined) return limit
  throw new UsageError(
    `--keep-memory and ${KEEP_VARIABLE} take an amount (2G, 500M), a share of the free memory (25%), or 0 to keep no agent between turns; not "${text}".`,
  )
}

interface FleetValues {
  fleet?: string
  slots?: string
  'no-copies'?: boolean
}

function fleetOf(values: FleetValues, labels: string[]): ServeOptions['fleet'] {
  const noCopies = values['no-copies'] === true
  const slots = wholeNumber('slots', values.slots, { min: 1, max: 1000 })
  if (values.fleet !== undefined)
    return {
      ...{ url: values.fleet, labels, ...(slots === undefined ? {} : { slots }) },
      ...(noCopies ? { noCopies } : {}),
    }
  if (labels.length === 0 && slots === undefined && !noCopies) return undefined
  throw new UsageError(
    '--label, --slots and --no-copies are for a machine of a fleet: name it with --fleet URL.',
  )
}

interface ExposeValues {
  expose?: boolean
  'tls-cert'?: string
  'tls-key'?: string
  'behind-proxy'?: boolean
  'proxy-address'?: string
}

/** `--expose tailscale` names a way; `--expose` alone says that the other options do. */
function takeExposeWay(args: string[]): [way: string | undefined, rest: string[]] {
  const at = args.findIndex(arg => arg === '--expose' || arg.startsWith('--expose='))
  const arg = args[at] ?? ''
  const isInline = arg.startsWith('--expose=')
  const next = args[at + 1]
  const way = isInline
    ? arg.slice('--expose='.length)
    : at !== -1 && next && !next.startsWith('-')
      ? next
      : undefined
  if (way === undefined) return [undefined, args]
  if (way !== 'tailscale')
    throw new UsageError(`--expose takes "tailscale", or nothing beside the other options; not "${way}".`)
  return [way, args.filter((_, i) => i !== at && (isInline || i !== at + 1))]
}

/** The server itself stays on loopback then. */
function checkTailscale(values: ExposeValues & { host?: string }): void {
  const other = (['host', 'tls-cert', 'tls-key', 'behind-proxy', 'proxy-address'] as const).find(
    name => values[name] !== undefined,
  )
  if (other !== undefined) throw new UsageError(`--expose tailscale does not go together with --${other}.`)
}

async function exposure(values: ExposeValues): Promise<Exposed | undefined> {
  const { expose, 'tls-cert': cert, 'tls-key': key, 'behind-proxy': proxy } = values
  if (!expose) return undefined
  if (cert !== undefined && key !== undefined) return { tls: { cert: await pem(cert), key: await pem(key) } }
  const address = values['proxy-address']
  if (proxy) return { proxy: true, ...(address === undefined ? {} : { address }) }
  throw new UsageError(
    '--expose needs --tls-cert and --tls-key, or --behind-proxy if a proxy in front speaks TLS.',
  )
}

function pem(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => {
    throw new UsageError(`${file} cannot be read.`)
  })
}

/** The values of an option that can be repeated, and the other arguments. */
function takeRepeated(args: string[], name: string): [values: string[], rest: string[]] {
  const values: string[] = []
  const rest: string[] = []
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] ?? ''
    const [given, inline] = arg.split(/=(.*)/s)
    if (given !== `--${name}`) {
      rest.push(arg)
      continue
    }
    if (inline === undefined) i += 1
    const value = inline ?? args[i]
    if (!value || (inline === undefined && value.startsWith('-')))
      throw new UsageError(`--${name} needs a value.`)
    values.push(value)
  }
  return [values, rest]
}
