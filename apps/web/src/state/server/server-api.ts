import type {
  Envelope,
  HarnessId,
  HarnessInstallStatus,
  HarnessModel,
  PermissionDecision,
  PermissionMode,
  PromptPart,
  SessionMode,
  SlashCommand,
} from '@chirality/core'
import type { CallInputs, CallOutputs, FleetEvent } from '@chirality/server'
import type { LoopSummary, LoopsApi, UnprovedTask } from './loops-api.ts'
import type { ReviewApi } from './review-api.ts'
import type { SettingsApi } from './settings-api.ts'

/** What the agent of a fork gets: its own conversation, all of it or up to there, or a written account. */
export type ForkHistory = CallOutputs['sessions']['forkHistory']

/** With which sessions it was done, and with which not and why. */
export type SeveralDone = Pick<CallOutputs['sessions']['discard'], 'done' | 'failed'>

export type SideOfChanges = NonNullable<CallInputs['files']['blame']['of']>
export type Blame = NonNullable<CallOutputs['files']['blame']>

export type Overlaps = CallOutputs['worktrees']['overlaps']

export type UsageReport = CallOutputs['sessions']['usage']

export type SignedInBrowser = Omit<CallOutputs['system']['browsers'][number], 'addedAt'>

export interface ServerApi extends SettingsApi, LoopsApi, ReviewApi {
  watchFleet(watcher: FleetWatcher): () => void
  /** Everything after `afterSeq`, then what happens; goes on by itself after a lost connection. */
  watchSession(sessionId: string, afterSeq: number, watcher: SessionWatcher): () => void
  watchConnection(listener: (state: ConnectionState) => void): () => void

  info(): Promise<ServerInfo>
  /** The browsers that are signed in, the one seen last first. */
  browsers(): Promise<SignedInBrowser[]>
  /** Signs one out, and ends what it has open. */
  revokeBrowser(id: string): Promise<void>
  push(): Promise<CallOutputs['system']['push']>
  /** Messages to this browser while no page is open. */
  subscribePush(subscription: CallInputs['system']['subscribePush']): Promise<void>
  unsubscribePush(): Promise<void>
  /** A link that signs one more browser in, once. */
  newSignInLink(): Promise<SignInLink>
  /** The files with rules for a project, in the order in which they are asked. */
  rules(project: string): Promise<RuleFile[]>
  /** Takes back a rule of one's own; refused when its line says something else by now. */
  removeRule(
    project: string,
    scope: 'project' | 'global',
    rule: Pick<PermissionRule, 'line' | 'text'>,
  ): Promise<void>
  projects(): Promise<ProjectInfo[]>
  registerProject(path: string): Promise<ProjectInfo>
  /** Folders that what was typed can become. */
  completeFolder(typed: string): Promise<string[]>
  /** Git repositories under the home folder that are no projects yet, the one used last first. */
  repositories(): Promise<string[]>
  openProject(root: string): Promise<void>
  harnesses(): Promise<HarnessInfo[]>
  harnessStatus(): Promise<Record<string, HarnessInstallStatus>>
  personas(project: string): Promise<PersonaInfo[]>
  /** What a persona would do without asking, and whether the user allowed that. */
  personaConsent(project: string, id: string): Promise<PersonaConsent>
  allowPersona(project: string, id: string, fingerprint: string): Promise<void>
  personaPrompt(project: string, persona: string | null, mode: SessionMode): Promise<PersonaPrompt>
  /** As the installed agent itself offers them. */
  models(harness: HarnessId, project: string): Promise<HarnessModel[]>
  slashCommands(harness: HarnessId, project: string): Promise<SlashCommand[]>
  projectSettings(project: string): Promise<ProjectSettingsInfo>
  /** Refused when the files are not those with this fingerprint. */
  allowProjectSettings(project: string, fingerprint: string): Promise<ProjectSettingsInfo>
  revokeProjectSettings(project: string): Promise<ProjectSettingsInfo>

  sessions(): Promise<SessionStatus[]>
  /** Cost and tokens of the last days, by day of this browser's time zone; of one day by hours. */
  usage(days: number): Promise<UsageReport>
  settings(sessionId: string): Promise<SessionSettings>
  /** Up to which event each session was read, in any browser. */
  readMarks(): Promise<Record<string, number>>
  markRead(sessionId: string, seq: number): Promise<void>
  createSession(project: string, options: NewSessionOptions): Promise<{ id: string }>
  renameSession(sessionId: string, title: string): Promise<void>
  forkSession(sessionId: string, atSeq?: number): Promise<{ id: string }>
  /** What the agent of such a fork would know. */
  forkHistory(sessionId: string, atSeq?: number): Promise<ForkHistory>
  /** What the next turns run with; what is left out stays. */
  configureSession(sessionId: string, changes: SessionChanges): Promise<void>
  /** Puts sessions on top of the lists, out of them, or back. */
  shelveSessions(sessionIds: readonly string[], shelf: SessionStatus['shelf']): Promise<SeveralDone>
  /** Stops and deletes them; `restoreSessions` brings them back for a minute. */
  discardSessions(sessionIds: readonly string[]): Promise<SeveralDone>
  restoreSessions(sessionIds: readonly string[]): Promise<SeveralDone>
  /** Without its secrets, as a file of its own. */
  exportSession(sessionId: string, format: 'markdown' | 'html' | 'json'): Promise<Blob>
  /** Conversations that an agent keeps itself, in the folder of a project. */
  nativeSessions(project: string, harness: string): Promise<{ sessions: NativeSession[] }>
  importSession(
    session: Pick<NativeSession, 'harness' | 'nativeSessionId'>,
    project: string,
  ): Promise<{ id: string }>
  processes(sessionId: string): Promise<SessionProcess[]>
  /** Ends one that the agent started, with what it started itself; says how many still run. */
  endProcess(sessionId: string, which: Pick<SessionProcess, 'pid' | 'startedAt'>): Promise<{ left: number }>
  /** The log from the beginning, a page at a time; `next` is null at its end. */
  readLog(sessionId: string, after: number): Promise<{ envelopes: Envelope[]; next: number | null }>
  /** The last events before one, oldest first; fewer, but at least one, where they would be more than `maxBytes`. */
  readLogBefore(
    sessionId: string,
    before: number | undefined,
    limit: number,
    maxBytes?: number,
  ): Promise<Envelope[]>
  /** What the agents printed: the last lines, or those before or after a place. */
  readNative(sessionId: string, place?: NativePlace): Promise<NativePage>
  /** One of these lines from a byte on: pages of them have only the beginning of a long one. */
  readNativeLine(sessionId: string, id: string, from: number): Promise<NativeText>
  search(text: string): Promise<SearchHit[]>

  send(sessionId: string, message: OutgoingMessage): Promise<SendResult>
  steer(sessionId: string, message: OutgoingMessage): Promise<SendResult>
  interrupt(sessionId: string): Promise<void>
  kill(sessionId: string): Promise<void>
  /** What still runs of the turn that was stopped last; null where it cannot be told. */
  leftovers(sessionId: string): Promise<CallOutputs['turns']['leftovers']>
  prewarm(sessionId: string): Promise<void>
  /** From when it holds: an agent that cannot change it while it works takes it with its next turn. */
  setPermissionMode(sessionId: string, mode: PermissionMode): Promise<'now' | 'next-turn'>
  /** What all turns of the session may spend together; what is left out stays. */
  setSessionBudget(sessionId: string, budget: SessionBudgetChange): Promise<void>
  /** What all sessions of the project may spend together. */
  setProjectBudget(project: string, budget: ProjectBudgetChange): Promise<void>
  /** `usedTokens` is null while no agent runs: then the log says. */
  contextUsage(sessionId: string): Promise<CallOutputs['turns']['contextUsage']>
  queueEdit(sessionId: string, id: string, message: string): Promise<void>
  queueRemove(sessionId: string, id: string): Promise<void>
  queueRelease(sessionId: string): Promise<void>
  decide(sessionId: string, requestId: string, decision: PermissionDecision): Promise<void>

  listFolder(place: FilePlace, path: string): Promise<FolderEntry[]>
  /** Files whose path has these letters, best first. */
  findFiles(place: FilePlace, text: string): Promise<string[]>
  readFile(place: FilePlace, path: string): Promise<FileText>
  workingTreeDiff(place: FilePlace): Promise<TreeDiff | null>
  /** Which turn wrote each line of a file as it is now, or on one side of changes; null without git. */
  blame(place: FilePlace, path: string, of?: SideOfChanges): Promise<Blame | null>
  /** Other sessions that changed the same files. */
  overlaps(sessionId: string): Promise<Overlaps>
  /** Whether a session can have a worktree of its own, and what it would begin with. */
  worktreePlan(project: string, base?: string): Promise<WorktreePlan>
  worktrees(project: string): Promise<WorktreeInfo[]>
  restoreWorktree(id: string): Promise<void>
  turnDiff(sessionId: string, turnId: string): Promise<TreeDiff>
}

/** What a project brings for its agents to run. */
export type ProjectSettingsInfo = Omit<CallOutputs['trust']['get'], 'problem'> & {
  /** Why they cannot be allowed. */
  problem: string | null
}

export type ConnectionState = 'connecting' | 'connected' | 'offline'

export interface FleetWatcher {
  onStatuses(statuses: SessionStatus[]): void
  onRemoved(sessionIds: string[]): void
  /** First all loops, if there are any; then those in which something happened. */
  onLoops(loops: LoopSummary[]): void
  /** The list of schedules may be another one. */
  onSchedules(): void
}

export interface SessionWatcher {
  onEnvelopes(envelopes: Envelope[]): void
  onError(message: string): void
}

/** As the server keeps it, without what no pane shows. */
export type SessionStatus = Omit<FleetSession, 'condition' | 'workedMs' | 'queue' | 'steered'> & {
  queue: QueuedMessage[]
  /** Given to the turn that runs, and not taken by its agent yet. */
  steered: QueuedMessage[]
  /** The task of a loop that this is the session of, as long as it is not proved. Its proof counts, not the last turn. */
  task?: LoopTaskState
}

export type LoopTaskState = UnprovedTask & {
  loopId: string
  /** The file of its list. */
  list: string
  project: string
  /** Whether its loop works on. */
  isLoopAtWork: boolean
}

/** The project's folder, the worktree of a session, or the folder of one that another machine has. */
export interface FilePlace {
  project: string
  sessionId?: string
}

export function filePlace({ projectRoot, sessionId, worktree, machine }: SessionPlace): FilePlace {
  return worktree || machine ? { project: projectRoot, sessionId } : { project: projectRoot }
}

/**
 * The part of cache keys that says whose files they are. Not the folder: that of a worktree at rest is not known here, and
 * the project's folder in its place would give its files to the sessions that work there.
 */
export function placeKey(status: SessionPlace): string {
  const { project, sessionId } = filePlace(status)
  return sessionId ?? project
}

/** Where the agent of a session works. */
export function workFolder({ projectRoot, worktree }: SessionPlace): string {
  return worktree?.folder ?? projectRoot
}

export type SessionPlace = Pick<SessionStatus, 'projectRoot' | 'sessionId' | 'worktree' | 'machine'>

export type WorktreePlan = CallOutputs['worktrees']['plan']

export type WorktreeInfo = CallOutputs['worktrees']['list'][number]

export type ServerInfo = Pick<CallOutputs['system']['info'], 'version' | 'demo'>

export type QueuedMessage = Pick<FleetSession['queue'][number], 'id' | 'message'>

type FleetSession = Extract<FleetEvent, { type: 'snapshot' }>['sessions'][number]

export type ProjectInfo = Pick<CallOutputs['projects']['list'][number], 'root' | 'name' | 'missing'> & {
  /** Where the server is that has it, when that is another one. */
  lockedBy: string | null
}

export type PushDetail = CallInputs['system']['subscribePush']['show']

export type SignInLink = CallOutputs['system']['newSignInLink']

export type RuleFileKind = 'user-persona' | 'user-project' | 'user-global' | 'persona' | 'project'

/** A file with rules, as it is now. */
export interface RuleFile {
  kind: RuleFileKind
  file: string
  /** Only there `allow` counts. */
  trusted: boolean
  rules: PermissionRule[]
  /** With any of them none of its rules counts. */
  problems: { line: number; message: string }[]
}

export interface PermissionRule {
  effect: 'allow' | 'ask' | 'deny'
  tool: string
  pattern?: string | undefined
  line: number
  /** As it was written. */
  text: string
}

export type HarnessInfo = CallOutputs['harnesses']['list'][number]

export interface PersonaInfo {
  id: string
  description: string | null
  harness: HarnessId | null
  model: string | null
  /** Why its file is no persona. */
  error: string | null
}

export type PersonaConsent = CallOutputs['personas']['consent']

export interface PersonaPrompt {
  text: string
  tokens: number
  maxTokens: number
  notes: string[]
}

export type NewSessionOptions = Omit<CallInputs['sessions']['create'], 'project'>

export type SessionSettings = Partial<CallOutputs['sessions']['get']['settings']>

export type SessionChanges = Omit<CallInputs['sessions']['configure'], 'sessionId'>

export type NativeSession = CallOutputs['sessions']['native']['sessions'][number]

export type SessionProcess = CallOutputs['system']['processes'][number]['processes'][number]

export interface OutgoingMessage {
  text: string
  parts?: PromptPart[]
  retryOfTurnId?: string
  /** For this turn only. */
  permissionMode?: PermissionMode
}

export type SendResult = 'started' | 'steered' | 'queued'

export type SearchHit = Pick<
  CallOutputs['sessions']['search']['hits'][number],
  'sessionId' | 'turnId' | 'seq' | 'title'
> & { excerpt: string }

export type NativePlace = { before: string } | { after: string }

export type NativePage = CallOutputs['sessions']['nativeLines']

export type NativeLine = NativePage['lines'][number]

/** A piece of one line. */
export type NativeText = CallOutputs['sessions']['nativeLine']

export interface FolderEntry {
  name: string
  kind: 'file' | 'folder' | 'other'
  size: number | null
}

export interface FileText {
  text: string | null
  /** Why there is no text, or not all of it. */
  note: string | null
}

export type TreeDiff = NonNullable<CallOutputs['files']['diff']>

/** What is left out stays. */
export type SessionBudgetChange = Omit<CallInputs['budgets']['setSession'], 'sessionId'>

export type ProjectBudgetChange = Omit<CallInputs['budgets']['set'], 'project'>
