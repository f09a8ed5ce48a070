import { setTimeout as sleep } from 'node:timers/promises'
import { isCodedError } from '@chirality/core'
import {
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream'
import {
  connect,
  headers,
  jwtAuthenticator,
  type NatsConnection,
  NoRespondersError,
  nkeyAuthenticator,
  PermissionViolationError,
  TimeoutError,
} from '@nats-io/transport-node'
import { fleetError } from '../fleet-error.ts'
import { inboxOf, STREAMS, type StreamKind, subjects } from '../subjects.ts'
import { serversOf } from './fleet-files.ts'
import { Follower, type Handler, type StoredMessage } from './follower.ts'
import { connectionRefusal, isRefusedKey } from './refusal.ts'

export interface LinkOptions {
  /** Address of the broker, or comma-separated addresses of a cluster. */
  url: string
  seed: string
  /** Certificate of the broker, or the issuer of a cluster's certificates, PEM. */
  cert: string
  /** Credential for a cluster. */
  jwt?: string | undefined
  machine: string
}

export type Published =
  | { kind: 'stored'; seq: number }
  /** Another message was stored before: nothing was written. */
  | { kind: 'conflict' }

export type LinkAnswer =
  | { kind: 'answer'; body: Uint8Array }
  /** No machine listens: nothing was done. */
  | { kind: 'absent' }
  /** No answer came: it may have been done. */
  | { kind: 'silent' }

export interface PublishOptions {
  headers?: Record<string, string>
  /** Number that the last message of the subject must have; 0 for none. */
  after?: number
  /** The broker stores a message with the same id once. */
  id?: string
}

/** The connection of one machine to its fleet. Only this class and `Follower` know NATS. */
export class Link {
  readonly #connection: NatsConnection
  readonly #stream: JetStreamClient
  readonly #manager: JetStreamManager
  readonly #listeners = new Set<(connected: boolean) => void>()
  readonly #machine: string
  readonly #replicas: number
  readonly #explain: (error: Error) => string
  #connected = true
  #fault: string | undefined
  #refusal: string | undefined
  #preparing: Promise<void> | undefined
  #closed = false

  private constructor(
    connection: NatsConnection,
    manager: JetStreamManager,
    { machine, replicas, explain }: { machine: string; replicas: number; explain: (error: Error) => string },
  ) {
    this.#machine = machine
    this.#replicas = replicas
    this.#explain = explain
    this.#connection = connection
    this.#stream = jetstream(connection, { timeout: ACK_MS })
    this.#manager = manager
    void this.#watch()
  }

  /** Connects with one attempt. An open connection is restored for ever after a loss. */
  static async open({ url, seed, cert, jwt, machine }: LinkOptions): Promise<Link> {
    const servers = serversOf(url)
    const key = new TextEncoder().encode(seed)
    let connection: NatsConnection
    try {
      connection = await connect({
        servers,
        authenticator: jwt === undefined ? nkeyAuthenticator(key) : jwtAuthenticator(jwt, key),
        tls: { ca: cert },
        inboxPrefix: inboxOf(machine),
        name: machine,
        pingInterval: 3_000,
        maxPingOut: 2,
        reconnectTimeWait: 500,
        maxReconnectAttempts: -1,
        timeout: 10_000,
        ignoreAuthErrorAbort: true,
        // A broker advertises addresses that its certificate may not have.
        ignoreClusterUpdates: true,
      })
    } catch (error) {
      throw connectionRefusal(error, { url, cert })
    }
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout: ACK_MS })
    return new Link(connection, manager, {
      machine,
      replicas: servers.length >= 3 ? 3 : 1,
      explain: error => connectionRefusal(error, { url, cert }).message,
    })
  }

  get connected(): boolean {
    return this.#connected
  }

  /**
   * Why nothing can be stored although this machine is connected: two of three brokers are gone, a disk is full, or the
   * streams are lost. Messages between machines still arrive.
   */
  get fault(): string | undefined {
    return this.#connected ? this.#fault : undefined
  }

  /** Why the broker refuses to let this machine in again. */
  get refusal(): string | undefined {
    return this.#connected ? undefined : this.#refusal
  }

  onConnected(listener: (connected: boolean) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Makes missing streams, and tests the guarantees that the fleet relies on. */
  prepare(): Promise<void> {
    this.#preparing ??= this.#noting(this.#prepare()).finally(() => {
      this.#preparing = undefined
    })
    return this.#preparing
  }

  async #prepare(): Promise<void> {
    for (const [kind, { name, subjects: held }] of Object.entries(STREAMS)) {
      const kept = KEPT_PER_SUBJECT[kind]
      const found = await this.#manager.streams.info(name).catch((error: unknown) => {
        if (error instanceof JetStreamApiError && error.code === STREAM_NOT_FOUND) return undefined
        throw error
      })
      if (found !== undefined) continue
      await this.#manager.streams.add({
        name,
        subjects: [...held],
        storage: StorageType.File,
        num_replicas: this.#replicas,
        retention: RetentionPolicy.Limits,
        discard: kept === undefined ? DiscardPolicy.New : DiscardPolicy.Old,
        max_msgs_per_subject: kept,
        allow_direct: true,
        deny_delete: kind === 'events',
        duplicate_window: DEDUPE_NS,
      })
    }
    await this.#probe()
  }

  /**
   * Tests compare-and-set: an old broker ignores the expectation without an error, and two machines would each believe
   * that they have the work.
   */
  async #probe(): Promise<void> {
    // One subject per machine, because nothing removes it.
    const subject = subjects.claim(`probe-${this.#machine}`)
    const after = (await this.last('claims', subject))?.seq ?? 0
    // Another connection of this machine may probe at the same time: a conflict proves the guarantee as well.
    const first = await this.publish(subject, EMPTY, { after })
    const second = await this.publish(subject, EMPTY, { after })
    if (first.kind === 'conflict' || second.kind === 'conflict') return
    throw fleetError(
      'fleet-no-broker',
      'This broker does not hold expectations. Install a newer nats-server.',
    )
  }

  /** Number of brokers that have all shipped messages. Only hubs may ask. */
  async currentReplicas(): Promise<number> {
    const { cluster } = await this.#manager.streams.info(STREAMS.events.name)
    return 1 + (cluster?.replicas ?? []).filter(({ current, offline }) => current && !offline).length
  }

  /** Resolves when the broker has the message on its disk. Rejects if that is not known. */
  async publish(subject: string, body: Uint8Array, options: PublishOptions = {}): Promise<Published> {
    const { after, id, headers: named = {} } = options
    const own = headers()
    for (const [name, value] of Object.entries(named)) own.set(name, value)
    try {
      const { seq } = await this.#stream.publish(subject, body, {
        headers: own,
        msgID: id,
        expect: after === undefined ? undefined : { lastSubjectSequence: after },
      })
      this.#fault = undefined
      return { kind: 'stored', seq }
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === WRONG_LAST_SEQUENCE)
        return { kind: 'conflict' }
      this.#fault = faultOf(error)
      throw error
    }
  }

  /**
   * Records a failed read as a fault too: with two of three brokers gone, reads fail before anything is written, for
   * example at the start of a hub.
   */
  async #noting<T>(asked: Promise<T>): Promise<T> {
    try {
      return await asked
    } catch (error) {
      // A broker that is too old can store all the same.
      if (!isCodedError(error)) this.#fault = faultOf(error)
      throw error
    }
  }

  /** The last message of a subject. */
  async last(kind: StreamKind, subject: string): Promise<StoredMessage | undefined> {
    const { name } = STREAMS[kind]
    const query = { last_by_subj: subject }
    // Claims are read from the leader: a follower may not have the last one.
    const message = await this.#noting(
      kind === 'claims' || kind === 'owners'
        ? this.#manager.streams.getMessage(name, query).catch(noMessage)
        : this.#manager.direct.getMessage(name, query),
    )
    if (message === null || message === undefined) return undefined
    const named = (message.header?.keys() ?? []).map(key => [key, message.header.get(key)])
    return { subject, seq: message.seq, headers: Object.fromEntries(named), body: message.data }
  }

  /** The subjects of a stream that have a message. Only hubs may ask. */
  async subjectsOf(kind: StreamKind): Promise<string[]> {
    const { name, subjects: held } = STREAMS[kind]
    const [filter] = held
    const { state } = await this.#manager.streams.info(name, { subjects_filter: filter })
    return Object.keys(state.subjects ?? {})
  }

  /** Number of the last message of a stream. Only hubs may ask. */
  async lastSeq(kind: StreamKind): Promise<number> {
    return (await this.#manager.streams.info(STREAMS[kind].name)).state.last_seq
  }

  /** Removes the messages of a subject, up to a number if one is given. Only hubs may. */
  async purge(kind: StreamKind, subject: string, upTo?: number): Promise<void> {
    try {
      const part = upTo === undefined ? {} : { seq: upTo + 1 }
      await this.#manager.streams.purge(STREAMS[kind].name, { filter: subject, ...part })
    } catch (error) {
      if (error instanceof PermissionViolationError || isCausedBy(error, PermissionViolationError))
        throw fleetError('fleet-refused', NO_PURGE, error)
      throw error
    }
  }

  /** Delivers every message of a stream from a number on, or the last one of each subject, in order. */
  follow(kind: StreamKind, from: number | 'last-of-each', handler: Handler): Follower {
    const { name } = STREAMS[kind]
    const manager = this.#manager
    return new Follower(from, handler, {
      isConnected: () => this.#connected,
      onConnected: listener => this.onConnected(listener),
      end: async () => {
        const { state, created } = await manager.streams.info(name)
        return { seq: state.last_seq, created }
      },
      consumer: seq =>
        this.#stream.consumers.get(name, {
          ...(seq === 0 && from === 'last-of-each'
            ? { deliver_policy: DeliverPolicy.LastPerSubject, filter_subjects: STREAMS[kind].subjects[0] }
            : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: seq + 1 }),
        }),
    })
  }

  /** Sends a request once. After `silent` the caller has to look before it asks again. */
  async request(subject: string, body: Uint8Array, timeout: number): Promise<LinkAnswer> {
    try {
      return { kind: 'answer', body: (await this.#connection.request(subject, body, { timeout })).data }
    } catch (error) {
      if (error instanceof NoRespondersError || isCausedBy(error, NoRespondersError))
        return { kind: 'absent' }
      if (error instanceof TimeoutError || isCausedBy(error, TimeoutError)) return { kind: 'silent' }
      throw error
    }
  }

  /** Answers requests until the returned function is called. */
  serve(subject: string, handler: (body: Uint8Array) => Promise<Uint8Array>): () => void {
    const subscription = this.#connection.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null) return
        // A request that is damaged, or whose answer is too large, gets no answer; the caller's timeout ends its wait.
        handler(message.data)
          .then(answer => message.respond(answer))
          .catch(() => {})
      },
    })
    return () => subscription.unsubscribe()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#connection.close()
  }

  async #watch(): Promise<void> {
    for await (const status of this.#connection.status()) {
      const { type } = status
      if (type === 'disconnect' || type === 'staleConnection') this.#tell(false)
      else if (type === 'reconnect') this.#tell(true)
      else if (type === 'error' && isRefusedKey(status.error)) this.#refusal = this.#explain(status.error)
    }
    if (!this.#closed) this.#tell(false)
  }

  #tell(connected: boolean): void {
    if (connected === this.#connected) return
    this.#connected = connected
    if (connected) this.#refusal = undefined
    for (const listener of [...this.#listeners]) listener(connected)
  }
}

/** Tests a connection with one attempt. Throws an error that names the fault. */
export async function tryConnection(options: LinkOptions): Promise<void> {
  await (await Link.open(options)).close()
}

/** Connects, retrying until it succeeds or is aborted. */
export async function openLink(
  options: LinkOptions,
  signal: AbortSignal,
  onRefused: (why: string) => void = () => {},
): Promise<Link | undefined> {
  let told = ''
  while (!signal.aborted) {
    try {
      return await Link.open(options)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      if (why !== told) onRefused(why)
      told = why
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }
  return undefined
}

const NO_PURGE =
  'This hub joined with an older version and lacks the right to remove finished entries from the brokers. Revoke it, let it leave and join again with the same name.'
const NO_STORE = 'no broker stores messages'
const AGAIN_MS = 1_000
const EMPTY = new Uint8Array()
const ACK_MS = 10_000
/** Messages kept per subject. A stream without a number keeps all, and refuses new ones when it is full. */
const KEPT_PER_SUBJECT: Readonly<Record<string, number>> = { state: 1, claims: 64, owners: 64 }
const DEDUPE_NS = 120_000_000_000
const STREAM_NOT_FOUND = 10_059
const WRONG_LAST_SEQUENCE = 10_071
const NO_MESSAGE = 10_037

function faultOf(error: unknown): string {
  return error instanceof JetStreamApiError ? error.message : NO_STORE
}

function noMessage(error: unknown): undefined {
  if (error instanceof JetStreamApiError && error.code === NO_MESSAGE) return undefined
  throw error
}

function isCausedBy(error: unknown, type: new (...args: never[]) => Error): boolean {
  return error instanceof Error && error.cause instanceof type
}
