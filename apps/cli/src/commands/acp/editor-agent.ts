import path from 'node:path'
import type { HarnessInfo } from '@chirality/centre'
import type { CallOutputs } from '@chirality/client'
import { type LocalServer, refusalCode } from '../../running-server.ts'
import { type AskCard, askTrust, lendServers, lent } from './before-turn.ts'
import { asObject, type EditorConnection, EditorError, type JsonObject, RPC } from './editor-connection.ts'
import { tellCommands, tellRoom, tellSettings, tellState } from './editor-news.ts'
import { EditorServers } from './editor-servers.ts'
import { EditorSession } from './editor-session.ts'
import { configOptions, modesOf, settingsOf, thinkingOf } from './editor-settings.ts'
import { chosenOf } from './permission-card.ts'
import { promptContent } from './prompt-content.ts'

type StoredSession = CallOutputs['sessions']['get']
type Models = CallOutputs['harnesses']['models']

export interface EditorAgentOptions {
  version: string
  /** The settings of new sessions. */
  newSession: { harness?: string; persona?: string; model?: string }
  /** The server for a folder: one that runs, or one that is started now. */
  serverFor(project: string): Promise<LocalServer>
  tell(text: string): void
}

interface OpenSession {
  live: EditorSession
  stored: StoredSession
  harness: HarnessInfo | undefined
  servers: EditorServers
  models: Models
  refused: Set<string>
}

/** Chirality as an agent of the Agent Client Protocol, version 1: each session of the editor is one of the server. */
export class EditorAgent {
  readonly #options: EditorAgentOptions
  readonly #open = new Map<string, OpenSession>()
  readonly #models = new Map<string, Promise<Models>>()
  #editor: EditorConnection | null = null
  #isInitialized = false

  constructor(options: EditorAgentOptions) {
    this.#options = options
  }

  connect(editor: EditorConnection): void {
    this.#editor = editor
  }

  /** The editor is gone. */
  close(): void {
    for (const { live } of this.#open.values()) live.close()
    this.#open.clear()
  }

  async onRequest(method: string, params: JsonObject): Promise<unknown> {
    if (method === 'initialize') return this.#initialize(params)
    if (!this.#isInitialized)
      throw new EditorError(RPC.invalidRequest, 'The first request has to be "initialize".')
    const handler = Object.hasOwn(this.#methods, method) ? this.#methods[method] : undefined
    if (handler === undefined)
      throw new EditorError(RPC.methodNotFound, `There is no method ${JSON.stringify(method)}.`)
    return handler(params)
  }

  onNotification(method: string, params: JsonObject): void {
    const session = typeof params.sessionId === 'string' ? this.#open.get(params.sessionId) : undefined
    if (method === 'session/cancel')
      session?.live.cancel().catch((error: unknown) => {
        // The editor is gone meanwhile, and with it the server.
        if (this.#open.has(session.live.id)) this.#options.tell(`${explained(error).message}\n`)
      })
  }

  explain(error: unknown): EditorError {
    const { code, message } = explained(error)
    return new EditorError(code, message)
  }

  readonly #methods: Record<string, (params: JsonObject) => Promise<unknown>> = {
    authenticate: async () => ({}),
    'session/new': params => this.#new(params),
    'session/load': async params => {
      const session = await this.#reopen(params)
      await session.live.replay()
      void tellCommands(session)
      return { ...settingsOf(session), ...this.#unused(session) }
    },
    'session/resume': async params => {
      const session = await this.#reopen(params)
      await session.live.resume()
      void tellCommands(session)
      return { ...settingsOf(session), ...this.#unused(session) }
    },
    'session/list': params => this.#list(params),
    'session/close': async params => {
      const { live } = this.#session(params)
      if (live.isAtWork) await live.cancel()
      live.close()
      this.#open.delete(live.id)
      return {}
    },
    'session/prompt': async params => {
      const content = promptContent(params.prompt, this.#session(params).stored.projectRoot)
      const session = await this.#connected(params)
      const answer = await session.live.prompt(content, signal => this.#prepare(session, signal))
      void tellState(session)
      return answer
    },
    'session/fork': async params => {
      const session = await this.#fork(params)
      return { sessionId: session.live.id, ...settingsOf(session), ...this.#unused(session) }
    },
    'session/delete': params => this.#delete(params),
    // Not in the protocol yet: agents announce it with `_meta.steering`.
    '_session/steering': async params => {
      const content = promptContent(params.prompt, this.#session(params).stored.projectRoot)
      const { live } = await this.#connected(params)
      const { idleBehavior } = asObject(asObject(params._meta).steering)
      return live.steer(content, { waitsForPrompt: idleBehavior === 'promptRequired' })
    },
    // Of earlier versions of the protocol; later ones have the option `model`.
    'session/set_model': async params => {
      await this.#setOption(await this.#connected(params), { configId: 'model', value: params.modelId })
      return {}
    },
    'session/set_mode': async params => {
      const session = await this.#connected(params)
      await this.#setMode(session, params.modeId)
      return {}
    },
    'session/set_config_option': async params => {
      const session = await this.#connected(params)
      await this.#setOption(session, params)
      return { configOptions: configOptions(session) }
    },
  }

  #initialize(params: JsonObject): JsonObject {
    if (typeof params.protocolVersion !== 'number')
      throw new EditorError(RPC.invalidParams, '"protocolVersion" must be a number.')
    this.#isInitialized = true
    return {
      // The version that is spoken here: an editor that does not speak it disconnects.
      protocolVersion: 1,
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: false },
        sessionCapabilities: { list: {}, resume: {}, close: {}, fork: {}, delete: {} },
      },
      _meta: { steering: { supported: true } },
      authMethods: [],
      agentInfo: { name: 'chirality', title: 'Chirality', version: this.#options.version },
    }
  }

  async #new(params: JsonObject): Promise<JsonObject> {
    const { project, server } = await this.#place(params)
    const stored = await server.calls.sessions.create.mutate({
      project,
      mode: 'direct',
      permissionMode: 'default',
      ...this.#options.newSession,
    })
    const session = await this.#opened(stored, server, params)
    session.live.follow()
    // After the answer: an editor knows the session only then.
    setImmediate(() => void tellCommands(session))
    return { sessionId: stored.id, ...settingsOf(session), ...this.#unused(session) }
  }

  async #reopen(params: JsonObject): Promise<OpenSession> {
    const { project, server } = await this.#place(params)
    const id = typeof params.sessionId === 'string' ? params.sessionId : ''
    const stored = await storedIn(server, id)
    if (stored.projectRoot !== project) throw elsewhere(stored)
    this.#open.get(id)?.live.close()
    // Those that the session was given when it was opened before end here, also for turns of the dashboard.
    await lent(server, id, {})
    return this.#opened(stored, server, params)
  }

  /** A copy of the conversation as it is now. The editor has what was said. */
  async #fork(params: JsonObject): Promise<OpenSession> {
    const { project, server } = await this.#place(params)
    const id = typeof params.sessionId === 'string' ? params.sessionId : ''
    const original = await storedIn(server, id)
    if (original.projectRoot !== project) throw elsewhere(original)
    const copy = await server.calls.sessions.fork.mutate({ sessionId: id })
    const session = await this.#opened(copy, server, params)
    await session.live.resume()
    setImmediate(() => void tellCommands(session))
    return session
  }

  /** As in the dashboard: what was deleted can be taken back there for a while. */
  async #delete({ sessionId, cwd }: JsonObject): Promise<JsonObject> {
    const id = typeof sessionId === 'string' ? sessionId : ''
    const open = this.#open.get(id)
    if (open?.live.isAtWork) await open.live.cancel()
    const server =
      open?.live.server ?? (await this.#options.serverFor(typeof cwd === 'string' ? cwd : process.cwd()))
    const { failed } = await server.calls.sessions.discard.mutate({ sessionIds: [id] })
    const [problem] = failed
    if (problem?.code === 'not-found') throw noSession(id)
    if (problem !== undefined) throw new EditorError(RPC.internal, problem.message)
    open?.live.close()
    this.#open.delete(id)
    return {}
  }

  async #opened(
    stored: StoredSession,
    server: LocalServer,
    { mcpServers }: JsonObject,
  ): Promise<OpenSession> {
    const harnesses = await server.calls.harnesses.list.query()
    const live = new EditorSession({
      ...{ stored, server, editor: this.#connection() },
      onUsage: () => tellRoom(session),
      onMode: mode => {
        session.stored.settings.permissionMode = mode
        void tellSettings(session)
      },
    })
    const harness = harnesses.find(({ id }) => id === (stored.harness ?? harnesses[0]?.id))
    const servers = new EditorServers(mcpServers, harness, stored.projectRoot)
    const models = await this.#modelsOf(server, harness, stored.projectRoot)
    const session: OpenSession = { live, stored, harness, servers, models, refused: new Set() }
    // It was opened a second time meanwhile: two that follow it would show everything twice.
    this.#open.get(stored.id)?.live.close()
    this.#open.set(stored.id, session)
    return session
  }

  /** As the installed agent names them, with what it says of each; else those that are known of it. */
  #modelsOf(server: LocalServer, harness: HarnessInfo | undefined, project: string): Promise<Models> {
    if (harness === undefined) return Promise.resolve([])
    const known = this.#models.get(harness.id)
    const asked =
      known ??
      server.calls.harnesses.models.query({ harness: harness.id, project }).catch(() => {
        this.#models.delete(harness.id)
        return harness.models
      })
    this.#models.set(harness.id, asked)
    return asked
  }

  async #place({ cwd }: JsonObject): Promise<{ project: string; server: LocalServer }> {
    if (typeof cwd !== 'string' || !path.isAbsolute(cwd))
      throw new EditorError(RPC.invalidParams, '"cwd" must be the absolute path of a folder.')
    const server = await this.#options.serverFor(cwd)
    // The user who opens a folder in an editor registers it, as `chirality run` does.
    const { root } = await server.calls.projects.register.mutate({ path: cwd })
    return { project: root, server }
  }

  async #list({ cwd, cursor }: JsonObject): Promise<JsonObject> {
    const isNamed = typeof cwd === 'string' && path.isAbsolute(cwd)
    const server = await this.#options.serverFor(isNamed ? cwd : process.cwd())
    const asked = {
      limit: LIST_LIMIT,
      project: isNamed ? cwd : undefined,
      cursor: typeof cursor === 'string' ? cursor : undefined,
    }
    const page = await server.calls.sessions.list.query(asked).catch((error: unknown) => {
      // A folder that is no project yet has no sessions.
      if (refusalCode(error) === 'project-not-registered') return { sessions: [] }
      throw error
    })
    return {
      sessions: page.sessions.map(({ id, projectRoot, title, updatedAt }) => ({
        ...{ sessionId: id, cwd: projectRoot, title, updatedAt },
      })),
      ...('nextCursor' in page && page.nextCursor !== undefined ? { nextCursor: page.nextCursor } : {}),
    }
  }

  /** The session, at the server that has it now: one that was started again has another address. */
  async #connected(params: JsonObject): Promise<OpenSession> {
    const session = this.#session(params)
    const { live, stored } = session
    if (!live.isLost) return session
    const { server } = await this.#place({ cwd: stored.projectRoot })
    // Another request may have found it meanwhile: it is followed once.
    if (live.isLost) live.reconnect(server)
    return session
  }

  async #setMode(session: OpenSession, mode: unknown): Promise<void> {
    const { live, stored } = session
    const known = modesOf(session).find(one => one === mode)
    if (known === undefined)
      throw new EditorError(RPC.invalidParams, `There is no mode ${JSON.stringify(mode)} for this agent.`)
    await live.server.calls.turns.setPermissionMode.mutate({ sessionId: live.id, mode: known })
    stored.settings.permissionMode = known
  }

  async #setOption(session: OpenSession, { configId, value }: JsonObject): Promise<void> {
    const { live, stored } = session
    const option = configOptions(session).find(({ id }) => id === configId)
    if (typeof value !== 'string' || !option?.options.some(choice => choice.value === value))
      throw new EditorError(
        RPC.invalidParams,
        `There is no option ${JSON.stringify(configId)} with the value ${JSON.stringify(value)}.`,
      )
    if (configId === 'mode') return this.#setMode(session, value)
    const change = configId === 'model' ? { model: value } : { thinking: thinkingOf(value) }
    const changed = await live.server.calls.sessions.configure.mutate({ sessionId: live.id, ...change })
    stored.settings = changed.settings
  }

  /** What the user of the editor is asked before a turn: about the project's own files, and the editor's tool servers. */
  async #prepare(session: OpenSession, signal: AbortSignal): Promise<void> {
    const { live } = session
    const ask: AskCard = async ({ text, options, ...card }) => {
      const content = [{ type: 'content', content: { type: 'text', text } }]
      const toolCall = { ...card, kind: 'other', status: 'pending', content }
      const answer = await this.#connection()
        .request('session/request_permission', { sessionId: live.id, toolCall, options }, signal)
        .catch((error: unknown) => {
          if (signal.aborted) throw error
          this.#say(live, `${card.title} This was not allowed: the editor could not ask.`)
        })
      const chosen = chosenOf(answer)
      const status = chosen === undefined || chosen === 'no' ? 'failed' : 'completed'
      await live.send({ sessionUpdate: 'tool_call_update', toolCallId: card.toolCallId, status })
      return chosen
    }
    const given = { ...session, project: session.stored.projectRoot }
    if (await askTrust(given, ask)) await tellCommands(session)
    const refusal = await lendServers(given, ask)
    if (refusal !== undefined) this.#say(live, `The tool servers of this editor are not used. ${refusal}`)
  }

  /** The answer and a message of the session say which tool servers of the editor are not used. */
  #unused({ live, servers: { unused } }: OpenSession): JsonObject {
    if (unused.length === 0) return {}
    const reasons = unused.map(({ name, reason }) => `${name}: ${reason}`).join('; ')
    const text = `Chirality does not use these tool servers of this editor (${reasons}).`
    // After the answer: an editor knows the session only then.
    setImmediate(() => this.#say(live, text))
    return { _meta: { chirality: { unusedMcpServers: unused.map(({ name }) => name) } } }
  }

  #say(live: EditorSession, text: string): void {
    this.#options.tell(`chirality: ${text}\n`)
    const notice = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }
    void live.send(notice).catch(() => {})
  }

  #session({ sessionId }: JsonObject): OpenSession {
    const session = typeof sessionId === 'string' ? this.#open.get(sessionId) : undefined
    if (session === undefined) throw noSession(sessionId)
    return session
  }

  #connection(): EditorConnection {
    if (this.#editor === null) throw new Error('No editor is connected.')
    return this.#editor
  }
}

const LIST_LIMIT = 100

async function storedIn(server: LocalServer, sessionId: string): Promise<StoredSession> {
  try {
    return await server.calls.sessions.get.query({ sessionId })
  } catch (error) {
    const code = refusalCode(error)
    if (code !== undefined && code !== 'unreachable') throw noSession(sessionId)
    throw error
  }
}

function elsewhere({ id, projectRoot }: StoredSession): EditorError {
  return new EditorError(RPC.notFound, `The session ${id} belongs to ${projectRoot}. Open that folder.`)
}

function noSession(id: unknown): EditorError {
  return new EditorError(
    RPC.notFound,
    `No session ${JSON.stringify(id)} is open here. Make one with session/new, or open one with session/load.`,
  )
}

function explained(error: unknown): { code: number; message: string } {
  const message = error instanceof Error ? error.message : String(error)
  const code = CODES[refusalCode(error) ?? '']
  return { code: code ?? RPC.internal, message }
}

/** What the server refuses because of the request, not because of itself. */
const CODES: Record<string, number> = {
  'invalid-input': RPC.invalidParams,
  'not-found': RPC.notFound,
  busy: RPC.invalidRequest,
}
