/** Everything the keeper needs. It goes to the keeper over a private channel, because it contains the real keys. */
export interface CagePlan {
  /** Owner-only: the sockets, the script of the probe and the agent's temporary files. Removed with the cage. */
  folder: string
  bwrap: string
  socat: string
  /** In the order in which they are mounted. */
  mounts: CageMount[]
  command: string
  args: string[]
  /** With placeholders in place of keys. */
  env: Record<string, string>
  cwd: string
  gateways: CageGateway[]
  /** Ports of the host's loopback that are reached by the same address inside. */
  ports: number[]
  probe: { home: string; dataFolder: string; tokenFiles: string[] }
}

export type CageMount =
  | { kind: 'read' | 'write'; from: string; at: string }
  | { kind: 'empty'; at: string }
  | { kind: 'link'; to: string; at: string }

/** An address on the loopback of the cage that leads to one server of the vendor, which gets the real keys. */
export interface CageGateway {
  port: number
  /** The server's base address. */
  upstream: string
  keys: { placeholder: string; real: string }[]
}

/** The result of one attempt to leave the cage. */
export interface CageTry {
  name: CageTryName
  held: boolean
}

/** The order in which they are shown. */
export const CAGE_TRIES = [
  'home-read',
  'home-write',
  'data-read',
  'system-write',
  'foreign-host',
  'raw-address',
  'metadata-address',
  'dns',
  'host-loopback',
  'abstract-socket',
  'host-processes',
] as const

export type CageTryName = (typeof CAGE_TRIES)[number]

/** The keeper's answer to a plan. The agent has started only if every attempt was held. */
export type KeeperAnswer =
  | { kind: 'ready'; tries: CageTry[] }
  | { kind: 'refused'; reason: string; tries: CageTry[] }
