import { type Envelope, SIGNED_OUT_CLOSE, SOCKET_PROTOCOL, TextsOnce, TOKEN_PROTOCOL } from '@chirality/core'
import type { AppRouter } from '@chirality/server'
import { createTRPCClient, createWSClient, type TRPCClient, TRPCClientError, wsLink } from '@trpc/client'
import { loopCalls } from './loops-api.ts'
import { reviewCalls } from './review-api.ts'
import type {
  ConnectionState,
  FilePlace,
  FileText,
  NativePlace,
  NewSessionOptions,
  OutgoingMessage,
  PersonaInfo,
  PersonaPrompt,
  ProjectSettingsInfo,
  SendResult,
  ServerApi,
  SessionStatus,
  SideOfChanges,
} from './server-api.ts'
import { settingsCalls } from './settings-api.ts'

type Client = TRPCClient<AppRouter>

const FIRST_RETRY_MS = 200
const MAX_RETRY_MS = 5_000
const MAX_SESSIONS = 1000

/** The server over one WebSocket. It comes back by itself, and each subscription goes on after the last event it saw. */
export function createTrpcApi(
  token: () => Promise<string>,
  options: { url: string; onRefused(): void },
): ServerApi {
  const connection = new ConnectionWatch()
  let isRefused = false
  // Once: a token that is worth nothing is not tried again, and whoever signs in anew is not sent away by the old one.
  const onRefused = () => {
    if (isRefused) return
    isRefused = true
    void socket.close()
    options.onRefused()
  }
  let shown = ''
  // The handshake shows the token already, so that the server has room for this page however many strangers knock.
  class SocketWithToken extends WebSocket {
    constructor(url: string | URL) {
      super(url, [SOCKET_PROTOCOL, `${TOKEN_PROTOCOL}${shown}`])
    }
  }
  const socket = createWSClient({
    url: async () => {
      shown = await token()
      return options.url
    },
    // Again: a proxy may take the protocols away.
    connectionParams: () => ({ token: shown }),
    WebSocket: SocketWithToken,
    retryDelayMs: attempt => (attempt === 0 ? 0 : Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** attempt)),
    onOpen: () => connection.set('connected'),
    onClose: cause => {
      connection.set('offline')
      if (cause?.code === SIGNED_OUT_CLOSE) onRefused()
    },
  })
  const client = createTRPCClient<AppRouter>({ links: [wsLink<AppRouter>({ client: socket })] })
  return {
    watchConnection: connection.watch,
    ...watches(client, onRefused),
    ...projectCalls(client),
    ...settingsCalls(client),
    ...loopCalls(client),
    ...reviewCalls(client),
    ...sessionCalls(client),
    ...listCalls(client),
    exportSession: async (...[sessionId, format]: Parameters<ServerApi['exportSession']>) => {
      const url = `/api/harness/session/${encodeURIComponent(sessionId)}/export?format=${format}`
      const answer = await fetch(url, { headers: { authorization: `Bearer ${await token()}` } })
      if (!answer.ok) throw new Error(`The server could not export it (${answer.status}).`)
      return answer.blob()
    },
    ...turnCalls(client),
    ...fileCalls(client),
  }
}

function watches(client: Client, onRefused: () => void): Pick<ServerApi, 'watchFleet' | 'watchSession'> {
  const failed = (error: unknown): string => {
    if (error instanceof TRPCClientError && error.data?.code === 'UNAUTHORIZED') onRefused()
    return error instanceof Error ? error.message : 'The server ended the stream.'
  }
  return {
    watchFleet: watcher => {
      const subscription = client.fleet.events.subscribe(undefined, {
        onData: event => {
          if (event.type === 'loops') return watcher.onLoops(event.loops)
          // Nobody says what happened to schedules while there was no connection.
          if (event.type !== 'changes') watcher.onSchedules()
          if (event.type === 'schedules') return
          watcher.onStatuses(fromWire<SessionStatus[]>(event.sessions))
          if (event.type === 'changes') watcher.onRemoved(event.removed)
        },
        onError: error => void failed(error),
      })
      return () => subscription.unsubscribe()
    },
    watchSession: (sessionId, afterSeq, watcher) => {
      const input = { sessionId, lastEventId: afterSeq > 0 ? String(afterSeq) : null, textOnce: true }
      const texts = new TextsOnce()
      const subscription = client.session.events.subscribe(input, {
        onData: ({ data }) =>
          watcher.onEnvelopes(fromWire<Envelope[]>(data).map(envelope => texts.restored(envelope))),
        onError: error => watcher.onError(failed(error)),
      })
      return () => subscription.unsubscribe()
    },
  }
}

function projectCalls(client: Client) {
  return {
    info: () => client.system.info.query(),
    browsers: () => client.system.browsers.query(),
    revokeBrowser: async (id: string) => void (await client.system.revokeBrowser.mutate({ id })),
    newSignInLink: () => client.system.newSignInLink.mutate(),
    push: () => client.system.push.query(),
    subscribePush: async (subscription: Parameters<ServerApi['subscribePush']>[0]) =>
      void (await client.system.subscribePush.mutate(subscription)),
    unsubscribePush: async () => void (await client.system.unsubscribePush.mutate()),
    rules: (project: string) => client.rules.list.query({ project }),
    removeRule: async (...[project, scope, rule]: Parameters<ServerApi['removeRule']>) =>
      void (await client.rules.remove.mutate({ project, scope, ...rule })),
    projects: async () => {
      const projects = await client.projects.list.query()
      return projects.map(({ lockedBy, ...project }) => ({ ...project, lockedBy: lockedBy?.address ?? null }))
    },
    registerProject: async (path: string) => {
      const { lockedBy, ...project } = await client.projects.register.mutate({ path })
      return { ...project, lockedBy: lockedBy?.address ?? null }
    },
    repositories: () => client.projects.repositories.query(),
    completeFolder: (typed: string) => client.projects.folders.query({ typed }),
    openProject: async (project: string) => void (await client.projects.open.mutate({ project })),
    harnesses: () => client.harnesses.list.query(),
    harnessStatus: () => client.harnesses.status.query(),
    personas: async (project: string): Promise<PersonaInfo[]> => {
      const entries = await client.personas.list.query({ project })
      return entries.map(entry => {
        if (entry.kind === 'broken')
          return { id: entry.id, description: null, harness: null, model: null, error: entry.error }
        const { id, description = null, harness = null, model = null } = entry.persona
        return { id, description, harness, model, error: null }
      })
    },
    personaConsent: (project: string, id: string) => client.personas.consent.query({ project, id }),
    allowPersona: (project: string, id: string, fingerprint: string) =>
      client.personas.allow.mutate({ project, id, fingerprint }),
    personaPrompt: async (...[project, id, mode]: Parameters<ServerApi['personaPrompt']>) => {
      const prompt = await client.personas.prompt.query({ project, id, mode })
      return toPersonaPrompt(prompt)
    },
    models: (harness: string, project: string) => client.harnesses.models.query({ harness, project }),
    slashCommands: (harness: string, project: string) =>
      client.harnesses.slashCommands.query({ harness, project }),
    projectSettings: async (project: string) => toProjectSettings(await client.trust.get.query({ project })),
    allowProjectSettings: async (project: string, fingerprint: string) =>
      toProjectSettings(await client.trust.allow.mutate({ project, fingerprint })),
    revokeProjectSettings: async (project: string) =>
      toProjectSettings(await client.trust.revoke.mutate({ project })),
  }
}

type Trust = Awaited<ReturnType<Client['trust']['get']['query']>>

function toProjectSettings(trust: Trust): ProjectSettingsInfo {
  return { ...trust, problem: trust.problem ?? null }
}

function sessionCalls(client: Client) {
  return {
    sessions: async () => {
      const { sessions } = await client.sessions.list.query({ limit: MAX_SESSIONS })
      return sessions.map(toStatus)
    },
    usage: (days: number) =>
      client.sessions.usage.query({ days, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone }),
    readMarks: () => client.sessions.readMarks.query(),
    markRead: async (sessionId: string, seq: number) => {
      await client.sessions.markRead.mutate({ sessionId, seq })
    },
    settings: async (sessionId: string) => {
      return (await client.sessions.get.query({ sessionId })).settings
    },
    createSession: (project: string, options: NewSessionOptions) =>
      client.sessions.create.mutate({ project, ...options }),
    renameSession: async (sessionId: string, title: string) =>
      void (await client.sessions.rename.mutate({ sessionId, title })),
    forkSession: (sessionId: string, atSeq?: number) =>
      client.sessions.fork.mutate({ sessionId, ...(atSeq === undefined ? {} : { atSeq }) }),
    forkHistory: (sessionId: string, atSeq?: number) =>
      client.sessions.forkHistory.query({ sessionId, ...(atSeq === undefined ? {} : { atSeq }) }),
    readLog: async (sessionId: string, after: number) => {
      const page = await client.sessions.export.query({ sessionId, format: 'ndjson', after })
      const lines = page.text.split('\n').filter(line => line !== '')
      return { envelopes: lines.map(line => JSON.parse(line) as Envelope), next: page.next }
    },
    readLogBefore: async (
      sessionId: string,
      before: number | undefined,
      limit: number,
      maxBytes?: number,
    ) => {
      const page = { sessionId, before, limit, maxBytes }
      return fromWire<Envelope[]>(await client.sessions.history.query(page))
    },
    readNative: (sessionId: string, place?: NativePlace) =>
      client.sessions.nativeLines.query({ sessionId, ...place }),
    readNativeLine: (sessionId: string, id: string, from: number) =>
      client.sessions.nativeLine.query({ sessionId, id, from }),
    search: async (query: string) => {
      const { hits } = await client.sessions.search.query({ query, limit: 20 })
      return hits.map(({ sessionId, turnId, seq, title, snippet }) => ({
        sessionId,
        turnId,
        seq,
        title,
        excerpt: snippet,
      }))
    },
  }
}

/** What is done with sessions as rows of a list, and with what they run. */
function listCalls({ sessions, system }: Client) {
  return {
    configureSession: async (...[sessionId, changes]: Parameters<ServerApi['configureSession']>) =>
      void (await sessions.configure.mutate({ sessionId, ...changes })),
    shelveSessions: (...[sessionIds, shelf]: Parameters<ServerApi['shelveSessions']>) =>
      sessions.shelve.mutate({ sessionIds: [...sessionIds], shelf }),
    discardSessions: (sessionIds: readonly string[]) =>
      sessions.discard.mutate({ sessionIds: [...sessionIds] }),
    restoreSessions: (sessionIds: readonly string[]) =>
      sessions.restore.mutate({ sessionIds: [...sessionIds] }),
    nativeSessions: (project: string, harness: string) => sessions.native.query({ project, harness }),
    importSession: (...[session, project]: Parameters<ServerApi['importSession']>) =>
      sessions.import.mutate({ project, harness: session.harness, nativeSessionId: session.nativeSessionId }),
    processes: async (sessionId: string) =>
      (await system.processes.query({ sessionId })).flatMap(({ processes }) => processes),
    endProcess: (...[sessionId, { pid, startedAt }]: Parameters<ServerApi['endProcess']>) =>
      system.endProcess.mutate({ sessionId, pid, startedAt }),
  }
}

function turnCalls(client: Client) {
  const { turns } = client
  return {
    send: async (sessionId: string, message: OutgoingMessage) =>
      sendResult(await turns.send.mutate({ sessionId, ...turnInput(message) })),
    steer: async (sessionId: string, message: OutgoingMessage) =>
      sendResult(await turns.steer.mutate({ sessionId, ...turnInput(message) })),
    interrupt: async (sessionId: string) => void (await turns.interrupt.mutate({ sessionId })),
    kill: async (sessionId: string) => void (await turns.kill.mutate({ sessionId })),
    leftovers: (sessionId: string) => turns.leftovers.query({ sessionId }),
    prewarm: async (sessionId: string) => void (await turns.prewarm.mutate({ sessionId })),
    setSessionBudget: async (...[sessionId, budget]: Parameters<ServerApi['setSessionBudget']>) =>
      void (await client.budgets.setSession.mutate({ sessionId, ...budget })),
    setProjectBudget: async (...[project, budget]: Parameters<ServerApi['setProjectBudget']>) =>
      void (await client.budgets.set.mutate({ project, ...budget })),
    setPermissionMode: async (...[sessionId, mode]: Parameters<ServerApi['setPermissionMode']>) =>
      (await turns.setPermissionMode.mutate({ sessionId, mode })).from,
    contextUsage: (sessionId: string) => turns.contextUsage.query({ sessionId }),
    queueEdit: async (sessionId: string, id: string, message: string) =>
      void (await turns.queue.edit.mutate({ sessionId, id, message })),
    queueRemove: async (sessionId: string, id: string) =>
      void (await turns.queue.remove.mutate({ sessionId, id })),
    queueRelease: async (sessionId: string) => void (await turns.queue.release.mutate({ sessionId })),
    decide: async (...[sessionId, requestId, decision]: Parameters<ServerApi['decide']>) =>
      void (await client.decisions.answer.mutate({ sessionId, requestId, decision })),
  }
}

function fileCalls(client: Client) {
  return {
    listFolder: async (place: FilePlace, path: string) => {
      const { entries } = await client.files.tree.query({ ...place, path })
      return entries.map(({ name, kind, sizeBytes }) => ({
        name,
        kind: kind === 'link' ? ('other' as const) : kind,
        size: kind === 'file' ? sizeBytes : null,
      }))
    },
    findFiles: (place: FilePlace, text: string) =>
      client.files.find.query({ ...place, query: text, limit: 20 }),
    readFile: async (place: FilePlace, path: string): Promise<FileText> => {
      const file = await client.files.read.query({ ...place, path })
      if (file.kind !== 'text')
        return { text: null, note: `This is no text: ${file.kind}, ${file.sizeBytes} bytes.` }
      return { text: file.text, note: file.truncated ? 'Only the beginning of this file is shown.' : null }
    },
    workingTreeDiff: (place: FilePlace) => client.files.diff.query(place),
    blame: (place: FilePlace, path: string, of?: SideOfChanges) =>
      client.files.blame.query({ ...place, path, ...(of ? { of } : {}) }),
    overlaps: (sessionId: string) => client.worktrees.overlaps.query({ sessionId }),
    worktreePlan: (project: string, base?: string) =>
      client.worktrees.plan.query({ project, ...(base ? { base } : {}) }),
    worktrees: (project: string) => client.worktrees.list.query({ project }),
    restoreWorktree: async (id: string) => void (await client.worktrees.restore.mutate({ id })),
    turnDiff: (sessionId: string, turnId: string) => client.files.turnDiff.query({ sessionId, turnId }),
  }
}

type TurnInput = Parameters<Client['turns']['send']['mutate']>[0]
type TurnPart = NonNullable<NonNullable<TurnInput['options']>['images']>[number]

function turnInput({
  text,
  parts = [],
  retryOfTurnId,
  permissionMode,
}: OutgoingMessage): Pick<TurnInput, 'message' | 'options'> {
  const images = parts.flatMap((part): TurnPart[] => {
    if (part.type === 'text') return [part]
    return part.source.kind === 'base64' ? [{ type: 'image', source: part.source }] : []
  })
  return {
    message: text,
    options: {
      ...(images.length > 0 ? { images } : {}),
      ...(retryOfTurnId ? { retryOfTurnId } : {}),
      ...(permissionMode ? { permissionMode } : {}),
    },
  }
}

/** tRPC types what went through JSON so that a field of any type may be missing. Ours never are undefined. */
function fromWire<T>(value: unknown): T {
  return value as T
}

function sendResult(result: object): SendResult {
  if ('queued' in result) return 'queued'
  return 'steered' in result ? 'steered' : 'started'
}

class ConnectionWatch {
  #state: ConnectionState = 'connecting'
  readonly #listeners = new Set<(state: ConnectionState) => void>()

  set(state: ConnectionState): void {
    this.#state = state
    for (const listener of this.#listeners) listener(state)
  }

  readonly watch = (listener: (state: ConnectionState) => void): (() => void) => {
    this.#listeners.add(listener)
    listener(this.#state)
    return () => this.#listeners.delete(listener)
  }
}

type Stored = Awaited<ReturnType<Client['sessions']['list']['query']>>['sessions'][number]
type Composed = Awaited<ReturnType<Client['personas']['prompt']['query']>>

/** A session that does not run looks like one that rests. */
function toStatus(stored: Stored): SessionStatus {
  const { id, projectRoot, title, harness, model, persona, mode, lastTurn, updatedAt, lastSeq } = stored
  const { costUsd, costIsEstimate, tokens, settings, leftUnanswered } = stored
  return {
    ...{ sessionId: id, projectRoot, title, harness, model, persona, mode, shelf: stored.shelf, lastTurn },
    ...{ leftUnanswered, costUsd, costIsEstimate, tokens, updatedAt, lastSeq },
    budgetUsd: settings.budgetUsd ?? null,
    budgetTokens: settings.budgetTokens ?? null,
    budgetMinutes: settings.budgetMinutes ?? null,
    lastLine: stored.progress.lastLine,
    // Only its id is stored: without it, the files of the project would be taken for those of the session.
    ...(stored.machine
      ? { machine: stored.machine }
      : stored.worktree
        ? { worktree: { id: stored.worktree, folder: null, branch: null, baseBranch: null } }
        : {}),
    ...{ phase: 'idle', turnId: null, turnStartedAt: null, logHealth: 'ok' },
    ...{ pending: [], policyProblem: null, queue: [], steered: [], queueHeld: false },
  }
}

function toPersonaPrompt({ text, estimatedTokens, truncated, warnings }: Composed): PersonaPrompt {
  const cut = truncated.map(part => `Cut to fit: ${part.part}`)
  return { text, tokens: estimatedTokens, maxTokens: MAX_PROMPT_TOKENS, notes: [...cut, ...warnings] }
}

/** What the server cuts prompts to. */
const MAX_PROMPT_TOKENS = 16_000
