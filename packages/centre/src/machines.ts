import { conditionOf } from '@chirality/core'
import type { AwayEnd, AwayTurn, AwayTurns } from '@chirality/loops'
import type {
  ProjectSpending,
  SessionHost,
  SessionLog,
  SessionStatus,
  SpentElsewhere,
  StoredSession,
} from '@chirality/sessions'
import { z } from 'zod'
import type { ToldByWork } from './push/told-by-work.ts'
import type {
  fleetInfo,
  forgottenMachine,
  keptSession,
  machine,
  movedSession,
  placement,
  takenOverSession,
} from './shapes/agents.ts'
import { sessionRecord, sessionStatus } from './shapes/sessions.ts'

export type Machine = z.infer<typeof machine>

/** A session that another machine runs, as that machine last told it. */
export interface RemoteSession {
  machine: string
  session: StoredSession
  /** Null if it is not open there. */
  status: SessionStatus | null
  /** The news that a loop or schedule of that machine tells itself. */
  work?: ToldByWork | undefined
}

/** A procedure, called on the machine that has the session. */
export interface RemoteCall {
  path: string
  input: unknown
}

/** What this machine brings into its fleet. */
export interface FleetLocal {
  host: SessionHost
  version: string
  agents: () => Promise<Machine['agents']>
  repositories: () => Promise<Machine['repositories']>
  /** The spending on each project of this machine, open or not, also nothing, by the name that its budget has on every machine. */
  spent: () => Promise<({ key: string } & ProjectSpending)[]>
  answer: (call: RemoteCall) => Promise<unknown>
  onRemoved: (listener: (sessionId: string) => void) => () => void
  /** Whether its user deleted the session and can restore it still. */
  isDiscarded: (sessionId: string) => boolean
  /** The news that a loop or schedule with the session at work tells itself: hubs send no messages of that. */
  toldByWork: (sessionId: string) => ToldByWork | undefined
  /** A session went to another machine. */
  left: (sessionId: string) => void
}

/** The fleet as the server sees it: `FleetMember` of `@chirality/fleet`, which only a caller that wants it loads. */
export interface FleetService {
  start(local: FleetLocal): void
  info(): z.infer<typeof fleetInfo>
  /** A code with which one machine can join. */
  invite(role: Machine['role']): Promise<{ code: string; fingerprint: string }>
  revoke(machine: string): Promise<void>
  /** Removes a machine that does not come back, and all that the fleet has of it. */
  forget(machine: string): Promise<z.infer<typeof forgottenMachine>>
  /** Whether hubs get copies of this machine's sessions. */
  sendCopies(send: boolean): Promise<void>
  choose(work: {
    agent: string
    project: string
    labels: readonly string[]
    /** The one on which `project` is that folder. */
    machine?: string | undefined
  }): z.infer<typeof placement>
  /** Makes a session on another machine. */
  create(machine: string, input: object): Promise<StoredSession>
  /** A session that another machine says it made for this hub just now: it is known here at once. */
  made(machine: string, session: unknown): Promise<StoredSession>
  /** The project folder that has the mirrored logs of a machine. */
  mirrorRoot(machine: string): string
  machines(): Machine[]
  /** The state that `machines` tells, without the rest: lists of many sessions ask it for each. */
  stateOf(machine: string): Machine['state']
  /** The spending of other machines on a project, by the name that its budget has on every machine. Also before `start`. */
  spentElsewhere(key: string): SpentElsewhere[]
  sessions(): RemoteSession[]
  session(sessionId: string): RemoteSession | undefined
  /** The machine that has a session, also one that was discarded there. Undefined for those of this machine. */
  machineOf(sessionId: string): string | undefined
  /** Called with the id of each session of another machine that changed or is gone. */
  onChange(listener: (sessionId: string) => void): () => void
  /** The mirrored log of a session. Close it. */
  log(sessionId: string): Promise<SessionLog>
  call(machine: string, call: RemoteCall): Promise<unknown>
  /** Turns of this hub's sessions that other machines make. */
  turns: FleetTurns
  move(sessionId: string, to: string): Promise<z.infer<typeof movedSession>>
  /** Lets another machine go on with a session whose machine is gone. */
  takeover(sessionId: string, to: string, goOn?: boolean): Promise<z.infer<typeof takenOverSession>>
  /** Gives up a move whose target does not come back. */
  keep(sessionId: string): Promise<z.infer<typeof keptSession>>
  close(): Promise<void>
}

/** As of a loop, but for the agent, which is always named. */
export interface FleetTurns extends Omit<AwayTurns, 'run'> {
  run(turn: AwayTurn & { agent: string }): Promise<AwayEnd>
}

/** The fleet as loops see it: a task that names no agent is for the one that this server would take. */
export function awayTurns(
  { turns }: Pick<FleetService, 'turns'>,
  harnesses: { getAll(): readonly { id: string }[] },
): AwayTurns {
  return {
    machineOf: sessionId => turns.machineOf(sessionId),
    spentOn: sessionId => turns.spentOn(sessionId),
    close: (id, isLeft) => turns.close(id, isLeft),
    groups: () => turns.groups(),
    end: group => turns.end(group),
    run: turn => turns.run({ ...turn, agent: turn.agent ?? harnesses.getAll()[0]?.id ?? '' }),
  }
}

/** The sessions of the other machines, without those that are not as the contract says: a machine may lie or be newer. */
export function remoteSessions(fleet: Pick<FleetService, 'sessions'> | undefined): RemoteSession[] {
  return fleet?.sessions().filter(isSound) ?? []
}

export function remoteSession(fleet: FleetService | undefined, sessionId: string): RemoteSession | undefined {
  const remote = fleet?.session(sessionId)
  return remote !== undefined && isSound(remote) ? remote : undefined
}

/** Each change is a new object. */
const sound = new WeakMap<RemoteSession, boolean>()
const told = z.object({ session: sessionRecord.loose(), status: sessionStatus.loose().nullable() })

function isSound(remote: RemoteSession): boolean {
  const known = sound.get(remote)
  if (known !== undefined) return known
  const is = told.safeParse(remote).success
  sound.set(remote, is)
  return is
}

/** A session or status with the machine that has it, and whether that is there now. */
export function labelled<T extends object>(
  fleet: Pick<FleetService, 'stateOf'>,
  machineName: string,
  value: T,
): T & { machine: { name: string; state: Machine['state'] } } {
  return { ...value, machine: { name: machineName, state: fleet.stateOf(machineName) } }
}

/** The status of a session of another machine; of one that is not open there, as it was stored. */
export function remoteStatus(fleet: FleetService, { machine: name, session, status }: RemoteSession) {
  return labelled(fleet, name, status ?? closedStatus(session))
}

function closedStatus(session: StoredSession): SessionStatus {
  const { id, settings, progress, lastTurn, leftUnanswered } = session
  const { projectRoot, title, harness, model, persona, mode, shelf, updatedAt, lastSeq } = session
  const { costUsd, costIsEstimate, tokens, workedMs } = session
  const { budgetUsd = null, budgetTokens = null, budgetMinutes = null } = settings
  return {
    sessionId: id,
    projectRoot,
    title,
    harness,
    model,
    persona,
    mode,
    shelf,
    updatedAt,
    lastSeq,
    costUsd,
    costIsEstimate,
    tokens,
    workedMs,
    budgetUsd,
    budgetTokens,
    budgetMinutes,
    phase: 'idle',
    condition: conditionOf({ phase: 'idle', lastTurn, leftUnanswered }),
    lastTurn,
    leftUnanswered,
    turnId: null,
    turnStartedAt: null,
    lastLine: progress.lastLine,
    pending: [],
    policyProblem: null,
    queue: [],
    steered: [],
    queueHeld: false,
    logHealth: 'ok',
  }
}
