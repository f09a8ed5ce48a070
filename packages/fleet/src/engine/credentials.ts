import { createHash } from 'node:crypto'
import { nkeys } from '@nats-io/transport-node'
import { inboxOf, type Role, rightsOf, subjects } from '../subjects.ts'

/**
 * The private keys of a cluster; their holder decides which machines are in the fleet. A broker of a cluster has the
 * public halves only, so it need not be told of machines that join.
 */
export interface ClusterKeys {
  operator: string
  account: string
  system: string
}

export function newClusterKeys(): ClusterKeys {
  const seedOf = (pair: { getSeed(): Uint8Array }) => new TextDecoder().decode(pair.getSeed())
  return {
    operator: seedOf(nkeys.createOperator()),
    account: seedOf(nkeys.createAccount()),
    system: seedOf(nkeys.createAccount()),
  }
}

export interface ClusterAccounts {
  operator: string
  account: { key: string; jwt: string }
  system: { key: string; jwt: string }
}

/**
 * The accounts that a broker has to know. `revoked` maps public keys of machines to the time up to which their
 * credentials are void. That time is the end of all times, because a clock may have been ahead when one was signed. A
 * machine that joins again makes another key, so no key has to come back.
 */
export function clusterAccounts(
  keys: ClusterKeys,
  revoked: Readonly<Record<string, number>>,
): ClusterAccounts {
  const [operator, account, system] = [keys.operator, keys.account, keys.system].map(publicOf) as [
    string,
    string,
    string,
  ]
  const open = {
    subs: -1,
    data: -1,
    payload: -1,
    imports: -1,
    exports: -1,
    wildcards: true,
    conn: -1,
    leaf: -1,
  }
  const stores = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1, max_ack_pending: -1 }
  const accountOf = (key: string, name: string, limits: object, more: object) =>
    sign(keys.operator, key, name, { type: 'account', limits, ...more })
  return {
    operator: sign(keys.operator, operator, 'chirality', { type: 'operator', system_account: system }),
    account: {
      key: account,
      jwt: accountOf(account, 'fleet', { ...open, ...stores }, { revocations: revoked }),
    },
    system: { key: system, jwt: accountOf(system, 'system', open, {}) },
  }
}

/** Credential with which a machine may connect, bound to its public key. */
export function machineCredential(keys: ClusterKeys, key: string, machine: string, role: Role): string {
  const { publish, subscribe } = rightsOf(machine, role)
  const joins = role === 'hub' ? [subjects.join] : []
  return userOf(keys.account, key, machine, {
    pub: { allow: publish },
    sub: { allow: [...subscribe, ...joins] },
    resp: { max: 1, ttl: RESPONSE_NS },
  })
}

/** Credential with which a machine may ask to join, until a time. */
export function invitationCredential(keys: ClusterKeys, key: string, name: string, until: Date): string {
  const rights = { pub: { allow: [subjects.join] }, sub: { allow: [`${inboxOf(name)}.>`] } }
  return userOf(keys.account, key, name, rights, until)
}

/** Credential with which a change may be sent to the brokers, for a key that is used once. */
export function systemCredential(keys: ClusterKeys, key: string): string {
  return userOf(keys.system, key, 'system', {}, new Date(Date.now() + SYSTEM_MS))
}

function userOf(seed: string, key: string, name: string, rights: object, until?: Date): string {
  return sign(seed, key, name, { type: 'user', subs: -1, data: -1, payload: -1, ...rights }, until)
}

/** Signs a token in the form of nats-server: a JWT with Ed25519 whose id is a hash of itself. */
function sign(seed: string, subject: string, name: string, nats: object, until?: Date): string {
  const pair = nkeys.fromSeed(new TextEncoder().encode(seed))
  const claims = {
    iat: Math.floor(Date.now() / 1000),
    iss: pair.getPublicKey(),
    name,
    sub: subject,
    exp: until && Math.floor(until.getTime() / 1000),
    nats: { ...nats, version: 2 },
  }
  const jti = createHash('sha256').update(JSON.stringify(claims)).digest('base64url')
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const body = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part({ jti, ...claims })}`
  return `${body}.${Buffer.from(pair.sign(Buffer.from(body))).toString('base64url')}`
}

export const REVOKED_UNTIL = 253_402_300_799

function publicOf(seed: string): string {
  return nkeys.fromSeed(new TextEncoder().encode(seed)).getPublicKey()
}

const RESPONSE_NS = 120_000_000_000
/** The key is thrown away at once. A day, because clocks of the hub and of the brokers may differ by hours. */
const SYSTEM_MS = 86_400_000
