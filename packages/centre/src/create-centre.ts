import type { SessionHarness } from '@chirality/core'
import { PersonaManager } from '@chirality/personas'
import { type HarnessRegistry, OwnAgents, type RunnerLogEntry } from '@chirality/runner'
import {
  type FindElsewhere,
  requireRest,
  SessionHost,
  StorageError,
  settlePushes,
  sweepTemporaries,
  userDataFolder,
} from '@chirality/sessions'
import { endPrograms } from '@chirality/workspaces'
import type { Centre, Demo, Entrance } from './centre.ts'
import { callError } from './errors.ts'
import { ProjectLoops } from './loops/project-loops.ts'
import { ProjectSchedules } from './loops/project-schedules.ts'
import { budgetKey } from './machines/repository-key.ts'
import { thisMachine } from './machines/this-machine.ts'
import { awayTurns, type FleetService } from './machines.ts'
import { Programs } from './programs/programs.ts'
import { ProjectRegistry } from './projects/project-registry.ts'
import { PushService } from './push/push-service.ts'
import { DiscardedSessions, RemovedSessions } from './sessions/discarded-sessions.ts'
import { deleteForGood, liveSession, requireKept } from './sessions/live-session.ts'
import { AgentTrials, type TryAgent } from './system/agent-trials.ts'
import { KeptNumbers } from './system/kept-numbers.ts'
import { RawLogKeeper } from './system/raw-log-keeper.ts'
import { killAgents } from './system/session-processes.ts'
import { StoppedTurns } from './system/stopped-turns.ts'

export interface CentreOptions {
  /** The available agents. `log` of the running centre is for their `onLog`. */
  harnesses: HarnessRegistry<SessionHarness>
  /** The agents that the user added. Default: those of the data folder, with harnesses as they come. */
  agents?: OwnAgents
  /** The user's data folder. */
  home?: string
  version?: string
  /** The demo project, and the first message to its agent. */
  demo?: Demo
  /** How long an agent's request waits for a person. Null, the default: no limit. */
  decisionTimeoutMs?: number | null
  /** The way in from outside. Default: there is none, and calls about it say so. */
  entrance?: Entrance
  /** The other machines. Closed with the centre. */
  machines?: FleetService | undefined
  /** Without `machines`, on a machine that is in a fleet: what is known of the other machines' spending on a project. */
  spentElsewhere?: FindElsewhere | undefined
  /** Tries an agent in scripted conversations. Default: no agent can be tried. */
  tryAgent?: TryAgent | undefined
  /** Only for tests: push services on this machine. */
  allowLocalPush?: boolean | undefined
  /** Called with internal errors. They are also written to harness.log of every open project. */
  onFault?: ((error: unknown) => void) | undefined
}

/** A centre at work: `answer` and `follow` answer its calls. */
export interface RunningCentre {
  readonly centre: Centre
  /** Opens these projects, and goes on with what an earlier process began: pushes, worktrees, loops, schedules. */
  start(projects?: readonly string[]): Promise<void>
  /** For `onLog` of the harnesses. */
  log(entry: RunnerLogEntry): void
  onFault(error: unknown): void
  /** Kills the agents at once, for a caller that does not wait for `close`. */
  killAgents(): Promise<void>
  /** Ends the agents or leaves them running. `drain` is called when every log is closed, before the last agents are ended. */
  close(options?: { agents?: 'stop' | 'leave'; drain?: () => Promise<void> }): Promise<void>
}

/** Makes the application. It needs no server: a program can answer its calls in its own process. */
export function createCentre(options: CentreOptions): RunningCentre {
  const { home = userDataFolder(), version = '0.0.0', entrance = NO_ENTRANCE, machines, harnesses } = options
  sweepTemporaries(home)
  const personas = new PersonaManager()
  const host = new SessionHost({
    harnesses,
    address: entrance.address,
    home,
    personas,
    decisionTimeoutMs: options.decisionTimeoutMs,
    spentElsewhere: machines === undefined ? options.spentElsewhere : toldTo(machines),
  })
  const onFault = (error: unknown) => {
    host.logFault(error)
    options.onFault?.(error)
  }
  const work = workOf({ host, home, harnesses, address: entrance.address, machines, onFault })
  const { loops, schedules } = work
  const push = new PushService({
    home,
    host,
    loops,
    schedules,
    onFault,
    allowLocal: options.allowLocalPush,
    browsers: () => entrance.remembered(),
    machines,
  })
  const centre: Centre = {
    ...work,
    host,
    personas,
    push,
    harnesses,
    agents: options.agents ?? new OwnAgents({ dataFolder: home, harnesses }),
    programs: new Programs(home),
    trials: new AgentTrials(home, options.tryAgent),
    removed: new RemovedSessions(),
    discarded: new DiscardedSessions({ home, deleteForGood: id => deleteForGood(centre, id) }),
    stopped: new StoppedTurns(host),
    readMarks: new KeptNumbers(home, 'read-marks.json'),
    contextSizes: new KeptNumbers(home, 'context-sizes.json'),
    home,
    version,
    startedAt: new Date().toISOString(),
    demo: options.demo ?? null,
    entrance,
    machines,
  }
  host.moves.keptWith(id => requireKept(centre, id))
  host.onDeleted(id => centre.removed.tell(id))
  const rawLogs = new RawLogKeeper(centre)
  return {
    centre,
    start: projects => start(centre, { projects, rawLogs, onFault }),
    log: entry => host.log(entry),
    onFault,
    killAgents: () => killAgents(host),
    close: closing => close(centre, rawLogs, closing),
  }
}

interface WorkOptions {
  host: SessionHost
  home: string
  harnesses: HarnessRegistry<SessionHarness>
  address: string
  machines: FleetService | undefined
  onFault: (error: unknown) => void
}

/** The registered projects, and the loops and schedules of them. */
function workOf({ host, home, harnesses, address, machines, onFault }: WorkOptions) {
  const projects: ProjectRegistry = new ProjectRegistry(home, async root => {
    await loops.closeProject(root)
    await closeIfThere(host, root)
  })
  const loops: ProjectLoops = new ProjectLoops({
    host,
    projects,
    onFault,
    atRest: (folders, work) => host.changes.hold(folders, () => requireRest(host, folders), work),
    away: machines?.info().role === 'hub' ? awayTurns(machines, harnesses) : undefined,
  })
  return {
    projects,
    loops,
    schedules: new ProjectSchedules({ home, address, host, loops, projects, onFault }),
  }
}

interface StartOptions {
  projects: readonly string[] | undefined
  rawLogs: RawLogKeeper
  onFault: (error: unknown) => void
}

async function start(centre: Centre, { projects = [], rawLogs, onFault }: StartOptions): Promise<void> {
  const { discarded, host, loops, schedules } = centre
  await discarded.load()
  for (const project of projects) {
    const { root } = await centre.projects.add(project)
    await openTelling(host, root, onFault)
  }
  void rawLogs.apply()
  void settlePushes(host, { session: id => liveSession(centre, id) }).catch(onFault)
  // Not waited for: the git of a server that was killed may still be writing.
  void recoverWorktrees(host)
    .then(() => loops.continueUnfinished().catch(onFault))
    .then(() => schedules.start())
  centre.machines?.start(thisMachine(centre))
}

async function close(
  { discarded, harnesses, host, loops, machines, push, schedules, trials }: Centre,
  rawLogs: RawLogKeeper,
  {
    agents = 'stop',
    drain = async () => {},
  }: { agents?: 'stop' | 'leave'; drain?: () => Promise<void> } = {},
): Promise<void> {
  push.close()
  // A push that goes on would change the remote after the caller was told that this ended.
  endPrograms()
  // Before the agents end: a run that ends with the process is not over.
  await schedules.close()
  const loopsOver = loops.close(agents)
  // Not waited for before the user's own agents are stopped.
  const trialsOver = trials.close()
  try {
    await discarded.close()
    await rawLogs.close()
    await loopsOver
    await host.close({ agents })
  } finally {
    await trialsOver
    // After the agents: their last events are shipped, too. In any case: it may have started a broker.
    await machines?.close()
    await drain()
    // What was asked of an agent after those of the host were ended, by a fleet that had just connected or by a request.
    await Promise.all(harnesses.getAll().map(harness => harness.endLookups?.()))
  }
}

/** A clone with odd things in the place of Chirality's files keeps no other project from being opened: its fault is told. */
async function openTelling(
  host: SessionHost,
  root: string,
  onFault: (error: unknown) => void,
): Promise<void> {
  await host.openProject(root).catch((error: unknown) => {
    if (!(error instanceof StorageError) || !ODD.has(error.code)) throw error
    onFault(error)
  })
}

const ODD: ReadonlySet<string> = new Set(['unsafe', 'io'])

/** A project whose folder was deleted is closed soon, and must not stay in the list forever. */
async function closeIfThere(host: SessionHost, root: string): Promise<void> {
  await host.closeProject(root).catch((error: unknown) => {
    if (!(error instanceof StorageError) || !GONE.has(error.code)) throw error
  })
}

const GONE: ReadonlySet<string> = new Set(['project-missing', 'project-not-a-directory'])

/** The spending of other machines on a project. Nothing without a remote by which they know the project. */
function toldTo(machines: Pick<FleetService, 'spentElsewhere'>): FindElsewhere {
  return async root => {
    const key = await budgetKey(root)
    return () => (key === undefined ? [] : machines.spentElsewhere(key))
  }
}

/** Finishes what a process that was killed began to make or to remove. */
async function recoverWorktrees(host: SessionHost): Promise<void> {
  try {
    for (const { error } of await host.worktrees.recover()) host.logFault(error)
  } catch (error) {
    host.logFault(error)
  }
}

function noServer(): never {
  throw callError(
    'unsupported',
    'No server runs here, so nobody can sign in. Start one with `chirality serve`.',
  )
}

const NO_ENTRANCE: Entrance = {
  address: 'this process',
  sockets: () => 0,
  connections: () => 0,
  newSignInLink: noServer,
  newProgramToken: noServer,
  browsers: async () => [],
  remembered: async () => [],
  revokeBrowser: async () => false,
  isThisMachine: async () => false,
}
