import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import {
  byNewest,
  HarnessError,
  type ImportedSession,
  type ListNativeSessionsOptions,
  type NativeSession,
} from '@chirality/core'
import { anySignal } from '../common/any-signal.ts'
import { asText, type JsonObject } from '../common/json.ts'
import {
  DEFAULT_LIMIT,
  oneLine,
  realPathOf,
  sameFolder,
  sessionNotFound,
} from '../native-sessions/listing.ts'
import { RpcError } from '../process/json-rpc.ts'
import { makeTempFolder } from '../process/spool/temp-folder.ts'
import type { NativeSessions } from '../turn/create-harness.ts'
import { checkDirectory } from '../turn/start-failure.ts'
import type { AgentName } from '../turn/turn-program.ts'
import { AcpAgent, type AcpConfig } from './acp-agent.ts'
import { type ProgramFacts, programOf } from './agent-program.ts'
import { listedPages } from './listed-pages.ts'
import { explained } from './open-conversation.ts'
import { RepeatedConversation, repeatedHistory } from './repeated-history.ts'

export interface AcpNativeSessionsOptions extends ProgramFacts {
  agent: AgentName
  config: AcpConfig
}

/** The conversations that an agent keeps. It is asked in a process of its own, which ends with the answer. */
export class AcpNativeSessions implements NativeSessions {
  readonly #options: AcpNativeSessionsOptions
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<unknown>>()
  /** Questions without an answer: who asks the same again gets the same answer, and no second process. */
  readonly #asked = new Map<string, SharedList>()

  constructor(options: AcpNativeSessionsOptions) {
    this.#options = options
  }

  async list(
    { cwd, limit = DEFAULT_LIMIT }: ListNativeSessionsOptions,
    signal: AbortSignal,
  ): Promise<NativeSession[]> {
    signal.throwIfAborted()
    const shared = this.#asked.get(cwd ?? '') ?? this.#askList(cwd)
    shared.waiting += 1
    // The process ends with the last one who waits for its answer.
    const leave = () => {
      shared.waiting -= 1
      if (shared.waiting === 0) shared.giveUp()
    }
    signal.addEventListener('abort', leave, { once: true })
    try {
      return (await shared.answer).slice(0, limit)
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  #askList(cwd: string | undefined): SharedList {
    const key = cwd ?? ''
    const ending = new AbortController()
    // Who asks while the process of a list that was given up ends gets another one.
    const forget = () => {
      if (this.#asked.get(key) === shared) this.#asked.delete(key)
    }
    const shared: SharedList = {
      answer: this.#ask((agent, patience) => listed(agent, cwd, patience()), ending.signal).finally(() =>
        forget(),
      ),
      waiting: 0,
      giveUp: () => {
        forget()
        ending.abort()
      },
    }
    this.#asked.set(key, shared)
    return shared
  }

  /**
   * The agent repeats the conversation when it loads it, in the process that listed it. Nothing that it asks for meanwhile
   * is allowed, and it gets to know the folder of the conversation only once it is known to have it: an agent may read or
   * run files of a folder.
   */
  async import(
    nativeSessionId: string,
    cwd: string | undefined,
    signal: AbortSignal,
  ): Promise<ImportedSession> {
    const { harnessId } = this.#options.agent
    return this.#ask(async (agent, patience) => {
      const all = await listed(agent, cwd, patience())
      const known = all.find(given => given.nativeSessionId === nativeSessionId)
      if (!known) throw sessionNotFound(shortened(nativeSessionId), harnessId)
      await checkDirectory('The folder of the conversation', known.cwd, harnessId)
      const { updates, left } = await loaded(agent, known, patience())
      const id = randomUUID()
      const { updatedAt = new Date().toISOString() } = known
      const facts = { id, known: { ...known, updatedAt }, left, version: agent.hello.version }
      const envelopes = repeatedHistory(updates, facts)
      return {
        session: {
          id,
          createdAt: envelopes[0]?.at ?? updatedAt,
          updatedAt,
          projectRoot: known.cwd,
          persona: null,
          mode: 'direct',
          claudeSessionId: nativeSessionId,
        },
        envelopes,
      }
    }, signal)
  }

  /** Ends the processes that are asked. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled([...this.#running])
  }

  async #ask<T>(read: Question<T>, given: AbortSignal): Promise<T> {
    const signal = anySignal([this.#closing.signal, given])
    signal.throwIfAborted()
    const answer = this.#asking(read, signal)
    this.#running.add(answer)
    try {
      return await answer
    } finally {
      this.#running.delete(answer)
    }
  }

  /** In a folder of its own: neither a list nor a load needs the agent to run in a project. */
  async #asking<T>(read: Question<T>, signal: AbortSignal): Promise<T> {
    const { agent, config } = this.#options
    const { command, env } = await programOf(this.#options)
    const folder = await makeTempFolder(env, agent.harnessId)
    try {
      const place = { cwd: folder, projectRoot: folder, label: 'conversations' }
      const started = await AcpAgent.start(
        {
          agent,
          command,
          args: this.#options.spec.args,
          env,
          ...place,
          config: { ...config, rawLogs: 'off' },
        },
        signal,
      )
      const patience = () => anySignal([signal, AbortSignal.timeout(config.conversationsMs ?? ANSWER_MS)])
      try {
        return await read(started, patience)
      } finally {
        await started.stop({ interruptGraceMs: 0 })
        await started.ended
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

interface SharedList {
  readonly answer: Promise<NativeSession[]>
  /** How many callers want it. */
  waiting: number
  readonly giveUp: () => void
}

/** What an agent is asked. Each request has a time limit of its own. */
type Question<T> = (agent: AcpAgent, patience: () => AbortSignal) => Promise<T>

/** What the agent repeats of a conversation. */
async function loaded(
  agent: AcpAgent,
  { nativeSessionId, cwd }: NativeSession,
  signal: AbortSignal,
): Promise<RepeatedConversation> {
  const { harnessId, name } = agent.agent
  if (!agent.hello.canLoad)
    throw new HarnessError(`${name} cannot repeat a conversation (session/load).`, 'unsupported', harnessId)
  const tooMuch = new AbortController()
  const repeated = new RepeatedConversation(nativeSessionId)
  agent.listen(message => {
    if (message.request) agent.refuseOutsideTurn(message.request)
    else if (!repeated.add(message)) tooMuch.abort()
    agent.taken(message)
  })
  try {
    const params = { sessionId: nativeSessionId, cwd, mcpServers: [] }
    await agent.request('session/load', params, anySignal([signal, tooMuch.signal]))
  } catch (error) {
    if (tooMuch.signal.aborted)
      throw new HarnessError(
        `${name} repeats more than ${repeated.limitWords} for this conversation, so it cannot be imported.`,
        'unsupported',
        harnessId,
      )
    throw explained(agent, isAnswer(error) ? error : noWord(agent, error))
  }
  return repeated
}

/** Newest first. An agent may ignore the folder, name one conversation twice, or never come to an end. */
async function listed(
  agent: AcpAgent,
  cwd: string | undefined,
  signal: AbortSignal,
): Promise<NativeSession[]> {
  const { harnessId, name } = agent.agent
  if (!agent.hello.canList)
    throw new HarnessError(
      `${name} does not tell which conversations it keeps (session/list).`,
      'unsupported',
      harnessId,
    )
  const folders = cwd === undefined ? undefined : await sameFolder(cwd)
  const isWanted = await folderFilter(cwd)
  const found = new Map<string, NativeSession>()
  try {
    for (const folder of folders ?? [undefined])
      for await (const { sessions = [] } of listedPages(agent, folder, signal)) {
        for (const entry of sessions) {
          const session = describe(entry, harnessId)
          if (!session || found.has(session.nativeSessionId) || !(await isWanted(session.cwd))) continue
          found.set(session.nativeSessionId, session)
          if (found.size >= MAX_LISTED) break
        }
        if (found.size >= MAX_LISTED) break
      }
  } catch (error) {
    throw error instanceof RpcError ? noWord(agent, error) : error
  }
  return [...found.values()].sort(byNewest)
}

/** Many conversations have the same folder, so each is looked up once. */
async function folderFilter(cwd: string | undefined): Promise<(folder: string) => Promise<boolean>> {
  if (cwd === undefined) return async () => true
  const wanted = await realPathOf(cwd)
  const known = new Map<string, boolean>()
  return async folder => {
    let isSame = known.get(folder)
    if (isSame === undefined) {
      isSame = (await realPathOf(folder)) === wanted
      known.set(folder, isSame)
    }
    return isSame
  }
}

/** Undefined for an entry without an id or a folder that could be used. */
function describe(entry: JsonObject, harness: string): NativeSession | undefined {
  const nativeSessionId = asText(entry.sessionId)
  const cwd = asText(entry.cwd)
  if (nativeSessionId === undefined || !ID.test(nativeSessionId)) return undefined
  if (cwd === undefined || !path.isAbsolute(cwd) || cwd.includes('\0')) return undefined
  const time = Date.parse(asText(entry.updatedAt) ?? '')
  const times = Number.isNaN(time) ? {} : { updatedAt: new Date(time).toISOString() }
  const title = oneLine(asText(entry.title) ?? '') || nativeSessionId
  return { harness, nativeSessionId, cwd, title, ...times }
}

function isAnswer(error: unknown): boolean {
  return !(error instanceof RpcError) || error.code !== null
}

/** The agent refused, ended or said nothing. */
function noWord({ agent: { harnessId, name }, said }: AcpAgent, error: unknown): HarnessError {
  const why = error instanceof Error ? error.message : String(error)
  const message = `${name} did not tell of its conversations: ${why}${said ? ` It said: ${said}` : ''}`
  return new HarnessError(message, 'process_crashed', harnessId, error)
}

function shortened(id: string): string {
  return id.length > MAX_ID_CHARS ? `${id.slice(0, MAX_ID_CHARS)}…` : id
}

/** An id is shown, sent in a request and stored. */
const ID = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,200}$/u
const MAX_ID_CHARS = 200
const ANSWER_MS = 120_000
/** More conversations than anybody has in one folder. */
const MAX_LISTED = 10_000
