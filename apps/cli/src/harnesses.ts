import { countResults } from '@chirality/conformance'
import { ACP_ID_PREFIX, type HarnessId, HarnessNotInstalledError, type SessionHarness } from '@chirality/core'
import {
  acpHarnesses,
  HARNESSES,
  type HarnessOptions,
  HarnessRegistry,
  harnessMeta,
  KNOWN_AGENTS,
} from '@chirality/runner'
import { readPrices, userDataFolder } from '@chirality/sessions'
import { agentEnvironment } from './agent-environment.ts'
import { EXIT } from './exit-code.ts'
import { oneOf } from './options.ts'
import { STOP_SIGNALS } from './stop-signals.ts'

/** All harnesses that can run a turn. */
export const HARNESS_IDS: readonly HarnessId[] = HARNESSES.map(({ meta }) => meta.id)
export const DEFAULT_HARNESS: HarnessId = HARNESSES[0].meta.id
/** The width of an id in a table. */
export const HARNESS_WIDTH = Math.max(...HARNESS_IDS.map(id => id.length))

/** The name of an agent in a sentence. */
export function agentName(id: HarnessId | null | undefined): string {
  return harnessMeta(id)?.name ?? id ?? HARNESSES[0].meta.name
}

/** A harness whose agent stores conversations of its own. */
export type NativeKeeper = SessionHarness &
  Required<Pick<SessionHarness, 'listNativeSessions' | 'importSession'>>

export async function createHarnesses(): Promise<HarnessRegistry<NativeKeeper>> {
  const harnesses = new HarnessRegistry<NativeKeeper>()
  await registerKeepers(harnesses)
  return harnesses
}

/**
 * The harnesses for a turn. Rarely used ones are imported on demand, because most of the command's start time is spent
 * on loading code. Turns of the others that are still running in the project are left alone.
 */
export class RunHarnesses extends HarnessRegistry<SessionHarness> {
  readonly #options: HarnessOptions

  private constructor(options: HarnessOptions) {
    super()
    this.#options = options
  }

  /** Agents that are kept between turns can ask while they work; a command of one turn needs none. */
  static async open(onLog: HarnessOptions['onLog'], keepAlive = false): Promise<RunHarnesses> {
    const places = { environment: agentEnvironment(), dataFolder: userDataFolder() }
    await countResults(places.dataFolder)
    const harnesses = new RunHarnesses({ onLog, ...places, prices: () => readPrices() })
    await registerKeepers(harnesses, { ...harnesses.#options, keepAlive })
    return harnesses
  }

  /** For work that may name any of them. */
  async loadAll(): Promise<void> {
    for (const { meta } of HARNESSES) await this.load(meta.id)
  }

  /** Throws a HarnessError when there is no such harness. */
  async load(id: HarnessId): Promise<SessionHarness> {
    const descriptor = this.has(id)
      ? undefined
      : (HARNESSES.find(({ meta }) => meta.id === id) ?? (await acpDescriptor(id)))
    if (descriptor !== undefined) this.register(await descriptor.create(this.#options))
    return this.getOrThrow(id)
  }
}

/** The ids that `--harness` takes: also those of agents that the user configured or installed. */
export async function harnessIds(): Promise<HarnessId[]> {
  return [...HARNESS_IDS, ...(await ownAgents()).map(({ meta }) => meta.id)]
}

/**
 * The agent that `--harness` names: also one that the user configured or installed. Throws for one that is known and not
 * installed, with how to get it.
 */
export async function namedHarness(given: string | undefined): Promise<HarnessId | undefined> {
  const isBuiltIn = given === undefined || HARNESS_IDS.includes(given)
  const ids = isBuiltIn ? HARNESS_IDS : await harnessIds()
  const known = KNOWN_AGENTS.find(({ name }) => `${ACP_ID_PREFIX}${name}` === given)
  if (given !== undefined && known && !ids.includes(given)) {
    const { title = known.name, command, install } = known
    const how = install ? ` Install it: \`${install}\`.` : ''
    throw new HarnessNotInstalledError(given, `${title} is known, and PATH has no ${command}.${how}`)
  }
  return oneOf('harness', given, ids)
}

async function acpDescriptor(id: HarnessId) {
  return (await ownAgents()).find(({ meta }) => meta.id === id)
}

function ownAgents() {
  return acpHarnesses({ dataFolder: userDataFolder(), environment: agentEnvironment() })
}

async function registerKeepers(
  harnesses: { register(harness: NativeKeeper): void },
  options: HarnessOptions = {},
): Promise<void> {
  for (const { meta, create } of HARNESSES) {
    if (meta.nativeSessions !== meta.id) continue
    const harness = await create({ keepAlive: false, ...options })
    if (isKeeper(harness)) harnesses.register(harness)
  }
}

function isKeeper(harness: SessionHarness): harness is NativeKeeper {
  return harness.listNativeSessions !== undefined && harness.importSession !== undefined
}

export interface NativeKeepers {
  harnesses: NativeKeeper[]
  /** Aborted when the command is to end. */
  signal: AbortSignal
  /** The notice for a user who requested another one. */
  note?: string
}

/**
 * Asks the harnesses for native conversations: all, or the one that `--harness` names. The agents that answer are not in
 * the process group of this command, so a signal from the terminal does not reach them: they are ended here.
 */
export async function withNativeKeepers(
  given: string | undefined,
  ask: (keepers: NativeKeepers) => Promise<number>,
): Promise<number> {
  const stop = new AbortController()
  const stopped = new Promise<number>(resolve => {
    stop.signal.addEventListener('abort', () => resolve(EXIT.interrupted), { once: true })
  })
  const found = await nativeKeepers(given)
  const onSignal = () => stop.abort()
  // Also for further signals: they must not end this command before the agents.
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal)
  try {
    return await Promise.race([ask({ ...found, signal: stop.signal }), stopped])
  } finally {
    await Promise.allSettled(found.harnesses.map(harness => harness.close()))
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal)
  }
}

async function nativeKeepers(given: string | undefined): Promise<Omit<NativeKeepers, 'signal'>> {
  const descriptors = [...HARNESSES, ...(await ownAgents())]
  const ids = descriptors.map(({ meta }) => meta.id)
  const harness = oneOf('harness', given, ids)
  const meta = descriptors.find(one => one.meta.id === harness)?.meta
  const keeper = meta?.nativeSessions
  if (meta !== undefined && keeper === undefined) {
    const note = `${meta.name} keeps no conversations but those of Chirality. See \`chirality sessions list\`.`
    return { harnesses: [], note }
  }
  const harnesses: NativeKeeper[] = []
  const places = { environment: agentEnvironment(), keepAlive: false }
  for (const { meta: own, create } of descriptors) {
    if (own.nativeSessions !== own.id || (keeper !== undefined && own.id !== keeper)) continue
    const made = await create(places)
    if (isKeeper(made)) harnesses.push(made)
  }
  if (meta === undefined || keeper === harness) return { harnesses }
  return { harnesses, note: `The ${meta.name} keeps its conversations with those of ${agentName(keeper)}.` }
}
