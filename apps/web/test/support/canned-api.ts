import type { Envelope, HarnessInstallStatus, UIEvent } from '@chirality/core'
import type { CallOutputs } from '@chirality/server'
import type { Page, WebSocketRoute } from 'playwright-core'
import type { NewSchedule, ScheduleWithRuns, ShownLoop } from '../../src/state/server/loops-api.ts'
import type { FileOfTree, ReviewState } from '../../src/state/server/review-api.ts'
import type {
  HarnessInfo,
  NativeLine,
  NativePage,
  NativeSession,
  NativeText,
  PersonaConsent,
  ProjectSettingsInfo,
  SessionProcess,
  SessionSettings,
  SessionStatus,
  SignedInBrowser,
  SignInLink,
  TreeDiff,
  UsageReport,
} from '../../src/state/server/server-api.ts'
import { aHarness } from './harnesses.ts'
import { aStatus, aUsage } from './statuses.ts'

type Answer = (input: never) => unknown
export type LooseEvent = UIEvent extends infer E ? (E extends UIEvent ? Omit<E, 'sessionId'> : never) : never

interface Subscription {
  socket: WebSocketRoute
  id: number
  sessionId: string | null
}

interface RpcMessage {
  id: number
  method: string
  params: { path: string; input?: never; lastEventId?: string }
}

/**
 * Answers the page's tRPC calls from memory, over the page's own WebSocket. For what no real agent can be made to show
 * at will: hostile text, a hundred sessions, a stream at a given pace.
 */
export class CannedApi {
  readonly statuses = new Map<string, SessionStatus>()
  readonly logs = new Map<string, Envelope[]>()
  readonly native = new Map<string, NativeLine[]>()
  readonly calls: { path: string; input: unknown }[] = []
  harnesses: HarnessInfo[] = [
    aHarness(),
    aHarness({
      ...{ id: 'codex', name: 'Codex', vendor: 'OpenAI', usesProjectFiles: false },
      install: 'npm install -g @openai/codex',
    }),
  ]
  installed: Record<string, HarnessInstallStatus> = {
    'claude-code': { installed: true, authenticated: true, authType: 'account', version: '2.1.325' },
    codex: { installed: false, authenticated: false, authType: 'none' },
  }
  /** Calls that fail, and with which words. */
  readonly faults = new Map<string, string>()
  patch = ''
  /** What other browsers have read. */
  readMarks: Record<string, number> = {}
  context: { usedTokens: number | null; maxTokens: number } | null = {
    usedTokens: 36_000,
    maxTokens: 200_000,
  }
  hits: { sessionId: string; turnId: string; seq: number; title: string | null; snippet: string }[] = []
  /** What stands in files, by path. */
  texts: Record<string, string> = {}
  /** A changed file as it was or became. */
  reviewed: (path: string, side: 'old' | 'new') => FileOfTree = () => null
  /** What the server says of each changed file, besides the patch. */
  changed: TreeDiff['files'] = []
  /** Cost and tokens over time, by how many days are asked for. */
  usage: (days: number) => UsageReport = days => aUsage(days, [])
  settings: Record<string, SessionSettings> = {}
  /** Whether a change of the permission mode holds while the turn runs. */
  modeFrom: 'now' | 'next-turn' = 'now'
  nativeSessions: NativeSession[] = []
  processes: SessionProcess[] = []
  repositories: string[] = []
  worktreePlan: Record<string, unknown> = { can: false, branches: [], othersAtWork: 0, reason: 'No git.' }
  worktrees: { id: string; condition: string }[] = []
  review: ReviewState | null = null
  loops: ShownLoop[] = []
  loopDetails: CallOutputs['loops']['task'] | null = null
  taskFiles: CallOutputs['loops']['files'] = []
  loopPlan: CallOutputs['loops']['plan'] | null = null
  schedules: ScheduleWithRuns[] = []
  overlaps: unknown[] = []
  machines: unknown[] = []
  blames: Record<string, unknown> = {}
  readonly #discarded = new Map<string, SessionStatus>()
  /** What the project brings for its agents. */
  /** Of every persona. */
  signInLink: SignInLink = {
    ...{ url: 'http://127.0.0.1:4096/#sign-in=another', minutes: 10, reach: 'this-machine' },
  }
  browsers: SignedInBrowser[] = []
  consent: PersonaConsent = { grants: [], isAllowed: false, fingerprint: '' }
  trust: ProjectSettingsInfo = { files: [], fingerprint: '', isTrusted: false, problem: null }
  projects = ['parser-kit', 'demo'].map(name => ({
    ...{ root: `/code/${name}`, name, addedAt: '', open: true, lockedBy: null, missing: false },
  }))
  /** No other project is registered. */
  onlyDemo = false
  /** Rules of the user for the project. */
  rules = [
    { effect: 'allow', tool: 'Bash', pattern: 'npm test *', line: 2, text: 'allow Bash(npm test *)' },
    { effect: 'deny', tool: 'Bash', pattern: 'git push *', line: 3, text: 'deny Bash(git push *)' },
  ]
  demo: { projectRoot: string; prompt: string } | null = {
    projectRoot: '/code/demo',
    prompt: 'The test fails. Mend it.',
  }
  files: Record<string, { name: string; kind: 'file' | 'folder' }[]> = {
    '': [{ name: 'src', kind: 'folder' }],
  }
  /** Answers that wait, by call. */
  readonly #heldCalls = new Map<string, (() => void)[]>()
  /** Those who wait for the log of a session, while it is held back. */
  #held: (() => void)[] | null = null
  readonly #subscriptions = new Set<Subscription>()
  readonly #sockets = new Set<WebSocketRoute>()
  #gate = newGate()

  constructor() {
    this.#gate.open()
  }

  async connect(page: Page): Promise<void> {
    await page.routeWebSocket(/\/trpc/, async socket => {
      await this.#gate.promise
      this.#sockets.add(socket)
      socket.onMessage(text => {
        const parsed: RpcMessage | RpcMessage[] = JSON.parse(String(text))
        for (const message of Array.isArray(parsed) ? parsed : [parsed]) this.#answer(socket, message)
      })
      socket.onClose(() => this.#forget(socket))
    })
  }

  add(fields: Partial<SessionStatus>): SessionStatus {
    const status = aStatus(fields)
    this.statuses.set(status.sessionId, status)
    if (!this.logs.has(status.sessionId)) this.logs.set(status.sessionId, [])
    return status
  }

  /** Appends events to a session's log and tells whoever follows it. */
  push(sessionId: string, events: readonly LooseEvent[], turnId = 't1'): void {
    const log = this.logs.get(sessionId) ?? []
    const added = events.map((event, i): Envelope => {
      const seq = log.length + i + 1
      const at = new Date(Date.UTC(2026, 0, 1, 12) + seq * 400).toISOString()
      return { seq, at, sessionId, turnId, event: { ...event, sessionId } as UIEvent }
    })
    this.logs.set(sessionId, [...log, ...added])
    for (const subscription of this.#subscriptions) {
      if (subscription.sessionId === sessionId) this.#sendEvents(subscription, added)
    }
  }

  /** What the agent printed, as lines of its spool. */
  print(sessionId: string, texts: readonly string[], more: Partial<NativeLine> = {}): void {
    const lines = [...(this.native.get(sessionId) ?? [])]
    for (const text of texts) {
      const { offset: end = 0, bytes = -1 } = lines.at(-1) ?? {}
      const [offset, spool] = [end + bytes + 1, `20260101T120000000Z-${sessionId}-t1.ndjson`]
      const line = { ...{ turnId: 't1', harness: 'claude-code', spool, offset }, bytes: text.length, text }
      lines.push({ id: `${spool.slice(0, -7)}.${offset}`, ...line, cut: false, torn: false, ...more })
    }
    this.native.set(sessionId, lines)
  }

  setStatus(sessionId: string, fields: Partial<SessionStatus>): void {
    const status = { ...aStatus(), ...this.statuses.get(sessionId), ...fields }
    this.statuses.set(sessionId, status)
    this.#tellFleet({ type: 'changes', sessions: [status], removed: [] })
  }

  /** As when it is deleted in another tab. */
  remove(sessionId: string): void {
    this.statuses.delete(sessionId)
    this.#tellFleet({ type: 'changes', sessions: [], removed: [sessionId] })
  }

  #tellFleet(data: unknown): void {
    for (const { socket, id, sessionId } of this.#subscriptions)
      if (sessionId === null) send(socket, id, { type: 'data', data })
  }

  /** Ends every connection and lets none through until `restore`. */
  async cutConnections(code?: number): Promise<void> {
    this.#gate = newGate()
    for (const socket of [...this.#sockets]) {
      this.#forget(socket)
      await socket.close(code === undefined ? {} : { code })
    }
  }

  restore(): void {
    this.#gate.open()
  }

  /** Sessions can be followed, but their logs do not come before `releaseLogs`. */
  holdLogs(): void {
    this.#held = []
  }

  releaseLogs(): void {
    for (const send of this.#held ?? []) send()
    this.#held = null
  }

  /** Calls of this path are heard, but not answered before the function that is returned is called. */
  hold(path: string): () => void {
    const waiting: (() => void)[] = []
    this.#heldCalls.set(path, waiting)
    return () => {
      this.#heldCalls.delete(path)
      for (const answer of waiting) answer()
    }
  }

  called(path: string): unknown[] {
    return this.calls.filter(call => call.path === path).map(({ input }) => input)
  }

  #forget(socket: WebSocketRoute): void {
    this.#sockets.delete(socket)
    for (const subscription of this.#subscriptions) {
      if (subscription.socket === socket) this.#subscriptions.delete(subscription)
    }
  }

  #answer(socket: WebSocketRoute, { id, method, params }: RpcMessage): void {
    if (method === 'subscription') return this.#subscribe(socket, id, params)
    if (method === 'subscription.stop') {
      for (const known of this.#subscriptions)
        if (known.socket === socket && known.id === id) this.#subscriptions.delete(known)
      return send(socket, id, { type: 'stopped' })
    }
    if (method !== 'query' && method !== 'mutation') return
    this.calls.push({ path: params.path, input: params.input })
    const answer = () => this.#reply(socket, id, params)
    const held = this.#heldCalls.get(params.path)
    if (held) held.push(answer)
    else answer()
  }

  #reply(socket: WebSocketRoute, id: number, params: RpcMessage['params']): void {
    const fault = this.faults.get(params.path)
    if (fault !== undefined) {
      const data = { code: 'SERVICE_UNAVAILABLE', httpStatus: 503, path: params.path }
      return socket.send(JSON.stringify({ id, error: { code: -32_603, message: fault, data } }))
    }
    const answer = this.#answers[params.path]
    send(socket, id, { type: 'data', data: answer ? answer(params.input ?? ({} as never)) : null })
  }

  #subscribe(
    socket: WebSocketRoute,
    id: number,
    { path, input, lastEventId: seen }: RpcMessage['params'],
  ): void {
    send(socket, id, { type: 'started' })
    if (path === 'fleet.events') {
      this.#subscriptions.add({ socket, id, sessionId: null })
      send(socket, id, {
        type: 'data',
        data: { type: 'snapshot', sessions: [...this.statuses.values()] },
      })
      if (this.loops.length > 0)
        send(socket, id, { type: 'data', data: { type: 'loops', loops: this.loops } })
      return
    }
    const { sessionId, lastEventId } = input as unknown as { sessionId: string; lastEventId: string | null }
    const subscription = { socket, id, sessionId }
    this.#subscriptions.add(subscription)
    const log = this.logs.get(sessionId) ?? []
    const after = log.filter(({ seq }) => seq > Number(seen ?? lastEventId ?? 0))
    const catchUp = () => this.#sendEvents(subscription, after)
    if (this.#held) this.#held.push(catchUp)
    else catchUp()
  }

  #sendEvents({ socket, id }: Subscription, envelopes: readonly Envelope[]): void {
    for (let i = 0; i < envelopes.length; i += BATCH) {
      const batch = envelopes.slice(i, i + BATCH)
      send(socket, id, {
        type: 'data',
        id: String(batch.at(-1)?.seq),
        data: { id: String(batch.at(-1)?.seq), data: batch },
      })
    }
  }

  /** As the server tells every page that the list has changed. */
  tellOfSchedules(): void {
    this.#tell({ type: 'schedules' })
  }

  /** The same for what has happened in loops. */
  tellOfLoops(loops: ShownLoop[]): void {
    this.loops = loops
    this.#tell({ type: 'loops', loops })
  }

  #tell(data: { type: string; loops?: ShownLoop[] }): void {
    for (const { socket, id, sessionId } of this.#subscriptions)
      if (sessionId === null) send(socket, id, { type: 'data', data })
  }

  #changeSchedule(id: string | undefined, fields: Partial<ScheduleWithRuns>): ScheduleWithRuns | undefined {
    const [first] = this.schedules
    if (id === undefined && first !== undefined)
      this.schedules = [...this.schedules, { ...first, ...fields, id: 'added-1', last: null, runs: [] }]
    else this.schedules = this.schedules.map(one => (one.id === id ? { ...one, ...fields } : one))
    this.tellOfSchedules()
    return this.schedules.find(one => one.id === (id ?? 'added-1'))
  }

  #shownTrust() {
    const { problem, ...trust } = this.trust
    return problem === null ? trust : { ...trust, problem }
  }

  #shownRules() {
    const own = { trusted: true, exists: true, problems: [] }
    return [
      {
        kind: 'user-project',
        file: '/home/me/.chirality/policies/parser-kit.policy',
        ...own,
        rules: this.rules,
      },
      { kind: 'user-global', file: '/home/me/.chirality/policies/global.policy', ...own, rules: [] },
      {
        ...{ kind: 'project', file: '.chirality/policy', trusted: false, exists: true, problems: [] },
        rules: [{ effect: 'allow', tool: 'Bash', line: 1, text: 'allow Bash' }],
      },
    ]
  }

  readonly #answers: Readonly<Record<string, Answer>> = {
    'system.info': () => ({ version: '0.1.0', demo: this.demo }),
    'projects.list': () =>
      this.projects.filter(({ root }) => !this.onlyDemo || root === this.demo?.projectRoot),
    'harnesses.list': () => this.harnesses,
    'harnesses.status': () => this.installed,
    'harnesses.trials': () => ({
      running: null,
      behaviours: { text: 'Answers, and ends its turn once', deny: 'Obeys a denial' },
      reports: [
        {
          ...{ harness: 'claude-code', name: 'Claude Code', version: '2.1.325', durationMs: 21_000 },
          at: '2026-11-09T09:00:00.000Z',
          findings: [
            { behaviour: 'text', outcome: 'supported', evidence: 'The answer came whole.' },
            { behaviour: 'deny', outcome: 'differs', evidence: 'The turn ends as interrupted.' },
          ],
        },
      ],
    }),
    'harnesses.slashCommands': () => [
      { name: 'compact', type: 'slash_command', description: 'Make the conversation shorter' },
      { name: 'review', type: 'slash_command', description: 'Review the changes' },
    ],
    'personas.list': () => [
      {
        kind: 'persona',
        persona: { id: 'DECOMP', sourceFile: 'agents/AGENT_DECOMP.md', description: 'Splits work' },
        warnings: [],
      },
      {
        kind: 'broken',
        id: 'OLD',
        sourceFile: 'agents/AGENT_OLD.md',
        error: 'Line 3: unknown tool',
        problems: [],
      },
    ],
    'personas.prompt': () => ({
      text: 'You are DECOMP.\n\nSplit the work.',
      estimatedTokens: 4100,
      truncated: [],
      warnings: [],
    }),
    'agents.list': () => ({
      ...{ file: '/home/you/agents.json', problems: [], refusal: null },
      agents: [
        {
          ...{ id: 'acp-mine', name: 'mine', title: 'My agent', command: 'my-agent', args: ['--acp'] },
          ...{ env: ['MY_API_KEY'], fingerprint: 'f' },
        },
      ],
    }),
    'toolServers.list': () => [
      {
        ...{ place: { kind: 'user-project' }, file: '/home/you/tool-servers/1.json', problems: [] },
        servers: [
          {
            ...{ name: 'tracker', fingerprint: 'f', wasTried: false, untried: null },
            config: {
              type: 'stdio',
              command: 'npx',
              args: ['tracker-mcp', '--read-only'],
              env: ['TRACKER_KEY'],
            },
          },
        ],
      },
      {
        ...{ place: { kind: 'project' }, file: '.mcp.json', problems: ['"x y" is no server.'] },
        servers: [
          {
            ...{ name: 'design', fingerprint: 'g', wasTried: false, untried: 'You have not allowed it.' },
            config: { type: 'http', url: 'https://mcp.design.example', headers: ['Authorization'] },
          },
        ],
      },
    ],
    'personas.source': ({ id }: { id: string }) => ({
      text: `---\ndescription: Splits work\n---\nYou are ${id}.\n`,
      revision: 'a'.repeat(64),
    }),
    'personas.check': ({ id }: { id: string }) => ({
      persona: { id, sourceFile: `agents/AGENT_${id}.md`, allowedTools: ['Read'], budgetUsd: 2 },
      ...{ problems: [], unmet: [], warnings: [{ line: 2, message: 'a warning to look at' }] },
      prompt: { text: `You are ${id}.`, estimatedTokens: 900, truncated: [], warnings: [] },
    }),
    'personas.consent': () => this.consent,
    'personas.allow': () => {
      this.consent = { ...this.consent, isAllowed: true }
      return null
    },
    'rules.list': () => this.#shownRules(),
    'rules.remove': ({ text }: { text: string }) => {
      this.rules = this.rules.filter(rule => rule.text !== text)
      return this.#shownRules()
    },
    'system.newSignInLink': () => this.signInLink,
    'system.push': () => ({ publicKey: '', show: null }),
    'system.unsubscribePush': () => ({ show: null }),
    'system.browsers': () => this.browsers,
    'system.revokeBrowser': ({ id }: { id: string }) => {
      this.browsers = this.browsers.filter(browser => browser.id !== id)
      return { revoked: true }
    },
    'trust.get': () => this.#shownTrust(),
    'trust.allow': () => {
      this.trust = { ...this.trust, isTrusted: true }
      return this.#shownTrust()
    },
    'trust.revoke': () => {
      this.trust = { ...this.trust, isTrusted: false }
      return this.#shownTrust()
    },
    'sessions.list': () => ({
      cursor: null,
      sessions: [...this.statuses.values()].map(status => ({
        ...status,
        id: status.sessionId,
        status: 'idle',
        settings: this.settings[status.sessionId] ?? {},
        progress: { lastLine: status.lastLine },
      })),
    }),
    'sessions.get': ({ sessionId }: { sessionId: string }) => ({
      ...this.statuses.get(sessionId),
      settings: this.settings[sessionId] ?? {},
    }),
    'sessions.create': () => ({ id: [...this.statuses.keys()][0] }),
    'sessions.fork': () => ({ id: [...this.statuses.keys()][0] }),
    'sessions.forkHistory': ({ atSeq }: { atSeq?: number }) => (atSeq === undefined ? 'account' : 'cut'),
    'sessions.history': ({
      sessionId,
      before,
      limit,
    }: {
      sessionId: string
      before?: number
      limit: number
    }) =>
      (this.logs.get(sessionId) ?? [])
        .filter(({ seq }) => seq < (before ?? Number.POSITIVE_INFINITY))
        .slice(-limit),
    'sessions.export': ({ sessionId, after = 0 }: { sessionId: string; after?: number }) => ({
      text: (this.logs.get(sessionId) ?? [])
        .filter(({ seq }) => seq > after)
        .map(envelope => JSON.stringify(envelope))
        .join('\n'),
      next: null,
    }),
    'sessions.nativeLines': (input: { sessionId: string; before?: string; after?: string }) =>
      nativePage(this.native.get(input.sessionId) ?? [], input),
    'sessions.nativeLine': ({ sessionId, id, from }: { sessionId: string; id: string; from: number }) =>
      nativePiece(this.native.get(sessionId)?.find(line => line.id === id)?.text ?? '', id, from),
    'projects.folders': ({ typed }: { typed: string }) => (typed.startsWith('~/pa') ? ['~/parser-kit/'] : []),
    'loops.files': () => this.taskFiles,
    'loops.plan': () => this.loopPlan,
    'loops.get': ({ loopId }: { loopId: string }) => this.loops.find(loop => loop.loopId === loopId),
    'loops.task': () => this.loopDetails,
    'loops.start': () => this.loops[0],
    'loops.stop': () => this.loops[0],
    'loops.resume': () => this.loops[0],
    'loops.accept': () => ({ commit: 'abc', into: 'main', tasks: ['one'] }),
    'loops.revert': () => this.loops[0],
    'schedules.list': () => this.schedules.map(({ runs: _runs, earlier: _earlier, ...shown }) => shown),
    'schedules.get': ({ id }: { id: string }) => this.schedules.find(schedule => schedule.id === id),
    'schedules.preview': () => ({ times: ['2030-06-03T04:00:00.000Z'], words: 'Monday to Friday at 06:00' }),
    'schedules.add': (input: NewSchedule) => this.#changeSchedule(undefined, input),
    'schedules.change': ({ id, ...input }: Partial<NewSchedule> & { id: string }) =>
      this.#changeSchedule(id, input),
    'schedules.pause': ({ id }: { id: string }) => this.#changeSchedule(id, { isPaused: true }),
    'schedules.resume': ({ id }: { id: string }) => this.#changeSchedule(id, { isPaused: false }),
    'schedules.run': ({ id }: { id: string }) => this.#changeSchedule(id, { isRunning: true }),
    'schedules.remove': ({ id }: { id: string }) => {
      this.schedules = this.schedules.filter(schedule => schedule.id !== id)
      this.tellOfSchedules()
      return {}
    },
    'sessions.usage': ({ days }: { days: number }) => this.usage(days),
    'sessions.configure': ({ sessionId, mode, ...settings }: { sessionId: string; mode?: never }) => {
      this.settings[sessionId] = { ...this.settings[sessionId], ...settings }
      if (mode) this.setStatus(sessionId, { mode })
      return { id: sessionId }
    },
    'sessions.shelve': ({ sessionIds, shelf }: { sessionIds: string[]; shelf: SessionStatus['shelf'] }) => {
      for (const id of sessionIds) this.setStatus(id, { shelf })
      return null
    },
    'sessions.discard': ({ sessionIds }: { sessionIds: string[] }) => {
      for (const id of sessionIds) {
        this.#discarded.set(id, this.statuses.get(id) ?? aStatus())
        this.remove(id)
      }
      return { undoSeconds: 60 }
    },
    'sessions.restore': ({ sessionIds }: { sessionIds: string[] }) => {
      for (const id of sessionIds) this.setStatus(id, this.#discarded.get(id) ?? {})
      return null
    },
    'sessions.native': () => this.nativeSessions,
    'sessions.import': () => ({ id: [...this.statuses.keys()][0] }),
    'turns.setPermissionMode': () => ({ from: this.modeFrom }),
    'system.processes': ({ sessionId }: { sessionId: string }) => [
      { sessionId, turnId: 't1', harness: 'claude-code', processes: this.processes },
    ],
    'system.endProcess': ({ pid }: { pid: number }) => {
      this.processes = this.processes.filter(one => one.pid !== pid)
      return { ended: 1, left: 0 }
    },
    'projects.repositories': () => this.repositories,
    'sessions.readMarks': () => this.readMarks,
    'sessions.markRead': () => null,
    'sessions.search': () => ({ hits: this.hits, unreadable: [] }),
    'turns.send': () => ({ turnId: 't2' }),
    'turns.steer': () => ({ steered: true }),
    'turns.contextUsage': () => this.context,
    'worktrees.plan': () => this.worktreePlan,
    'worktrees.list': () => this.worktrees,
    'worktrees.overlaps': () => this.overlaps,
    'fleet.machines': () => this.machines,
    'files.blame': ({ path }: { path: string }) => this.blames[path] ?? null,
    'worktrees.restore': ({ id }: { id: string }) => {
      for (const worktree of this.worktrees) if (worktree.id === id) worktree.condition = 'ready'
      return null
    },
    'review.state': () => this.review,
    'review.file': ({ path, side }: { path: string; side: 'old' | 'new' }) => this.reviewed(path, side),
    'files.diff': () => ({ patch: this.patch, files: this.changed, truncated: false }),
    'files.turnDiff': () => ({ patch: this.patch, files: this.changed, truncated: false, source: 'git' }),
    'files.tree': ({ path }: { path: string }) => ({
      path,
      left: 0,
      entries: (this.files[path] ?? []).map(entry => ({
        ...entry,
        path: entry.name,
        sizeBytes: 10,
        modifiedAt: '',
      })),
    }),
    'files.find': ({ query }: { query: string }) =>
      ['src/ndjson.ts', 'src/ndjson.test.ts', 'docs/api.md'].filter(file => file.includes(query)),
    'files.read': ({ path }: { path: string }) => ({
      kind: 'text',
      path,
      text: this.texts[path] ?? `export const path = '${path}'\n`,
      truncated: false,
      sizeBytes: 20,
      modifiedAt: '',
    }),
  }
}

const BATCH = 512
const NATIVE_PAGE = 200
const NATIVE_TEXT = 64 * 1024
const NATIVE_PIECE = 256 * 1024

function nativePage(lines: NativeLine[], place: { before?: string; after?: string }): NativePage {
  const at = (id: string) =>
    Math.max(
      0,
      lines.findIndex(line => line.id === id),
    )
  const end = place.before === undefined ? lines.length : at(place.before)
  // A place after the last line is its own end; the page knows it by that name.
  const start = place.after === undefined ? Math.max(0, end - NATIVE_PAGE) : Number(place.after.slice(4))
  const before = start > 0 ? (lines[start]?.id ?? null) : null
  const after = lines.length === 0 ? null : `end:${lines[end - 1]?.torn ? end - 1 : end}`
  return { lines: lines.slice(start, end).map(shortened), before, after, more: false, problems: [] }
}

function shortened(line: NativeLine): NativeLine {
  if (line.text.length <= NATIVE_TEXT) return line
  return { ...line, text: line.text.slice(0, NATIVE_TEXT), cut: true }
}

function nativePiece(line: string, id: string, from: number): NativeText {
  const end = Math.min(line.length, from + NATIVE_PIECE)
  const next = end < line.length ? end : null
  return { ...{ id, from, next }, bytes: line.length, text: line.slice(from, end), torn: false }
}

function send(socket: WebSocketRoute, id: number, result: unknown): void {
  socket.send(JSON.stringify({ id, result }))
}

interface Gate {
  promise: Promise<void>
  open(): void
}

function newGate(): Gate {
  let open = () => {}
  const promise = new Promise<void>(resolve => {
    open = resolve
  })
  return { promise, open }
}
