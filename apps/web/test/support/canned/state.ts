import type { CallOutputs } from '@chirality/client'
import type { Envelope, HarnessInstallStatus, HarnessModel } from '@chirality/core'
import type {
  Budget,
  FileOfTree,
  FleetInfo,
  HarnessInfo,
  Machine,
  NativeLine,
  NativeSession,
  Placement,
  ProjectSettingsInfo,
  ReviewState,
  ScheduleWithRuns,
  SessionProcess,
  SessionSettings,
  SessionStatus,
  ShownLoop,
  SignedInBrowser,
  SignInLink,
  TreeDiff,
  UsageReport,
} from '../../../src/state/server/answers.ts'
import { aHarness } from '../harnesses.ts'
import { aStatus, aUsage } from '../statuses.ts'

type PersonaConsent = CallOutputs['personas']['consent']

/** One call's answer, from what the page sent with it. */
type Answer = (input: never) => unknown
export type Answers = Readonly<Record<string, Answer>>

/** All that the canned server knows. Scenes write it, the answers read it. */
export abstract class CannedState {
  readonly statuses = new Map<string, SessionStatus>()
  readonly logs = new Map<string, Envelope[]>()
  readonly native = new Map<string, NativeLine[]>()
  budget: Budget = {
    ...{ total_cost_usd: 3.5, max_cost_usd: null, iterations: 4, max_iterations: null },
    ...{ total_tokens: 90_000, max_tokens: null, unpriced_tokens: 0 },
    ...{ total_minutes: 12, max_minutes: null, elsewhere: [] },
  }
  /** As the installed agent offers them, if a test says so. */
  models: HarnessModel[] | undefined
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
  /** Agents that do not tell their conversations, and why. */
  readonly nativeFaults = new Map<string, string>()
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
  machines: Machine[] = []
  /** Null: no fleet. */
  fleetInfo: FleetInfo | null = null
  placement: Placement | null = null
  blames: Record<string, unknown> = {}
  /** Deleted sessions that can still be restored. */
  readonly discarded = new Map<string, SessionStatus>()
  signInLink: SignInLink = {
    ...{ url: 'http://127.0.0.1:4096/#sign-in=another', minutes: 10, reach: 'this-machine' },
  }
  browsers: SignedInBrowser[] = []
  /** Of every persona. */
  consent: PersonaConsent = { grants: [], isAllowed: false, fingerprint: '' }
  /** What the project brings for its agents. */
  trust: ProjectSettingsInfo = { files: [], fingerprint: '', isTrusted: false }
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

  /** Sends one event to every page that follows all sessions. */
  protected abstract tell(data: unknown): void

  add(fields: Partial<SessionStatus>): SessionStatus {
    const status = aStatus(fields)
    this.statuses.set(status.sessionId, status)
    if (!this.logs.has(status.sessionId)) this.logs.set(status.sessionId, [])
    return status
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
    this.tell({ type: 'changes', sessions: [status], removed: [] })
  }

  /** As when it is deleted in another tab. */
  remove(sessionId: string): void {
    this.statuses.delete(sessionId)
    this.tell({ type: 'changes', sessions: [], removed: [sessionId] })
  }

  /** As the server tells every page that the list has changed. */
  tellOfSchedules(): void {
    this.tell({ type: 'schedules' })
  }

  /** The same for what has happened in loops. */
  tellOfLoops(loops: ShownLoop[]): void {
    this.loops = loops
    this.tell({ type: 'loops', loops })
  }
}
