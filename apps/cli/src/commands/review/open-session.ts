import {
  backPlan,
  type CommitInput,
  commitWork,
  type DiscardInput,
  discard,
  type GoneBack,
  goBackTo,
  type LiveSession,
  type MergeInput,
  mergeWork,
  type PushInput,
  type PushResult,
  type PushWorkInput,
  pushPlan,
  pushWork,
  type ReviewState,
  reviewState,
  type SessionHost,
  type ShownBackPlan,
  type ShownPushPlan,
  type StoredSession,
  settlePushes,
  type TurnDiff,
  turnDiff,
  undoMove,
  workFolderOf,
} from '@chirality/sessions'
import { type Changes, endPrograms, type FileMove, type MergeResult } from '@chirality/workspaces'
import { UsageError } from '../../exit-code.ts'
import { hubServer } from '../../fleet-sessions.ts'
import { openHost } from '../../open-host.ts'
import { type LocalServer, serverOf } from '../../running-server.ts'
import { STOP_SIGNALS } from '../../stop-signals.ts'
import { findAnywhere } from '../sessions/find-anywhere.ts'

/** A session whose changes a command works on. */
export interface OpenSession {
  id: string
  session: StoredSession
  /** The folder with its log. */
  logRoot: string
  review: SessionReview
  /** Another session of the same project, open as long as this one. */
  other(id: string): Promise<OpenSession>
}

/** What can be done with the changes of a session, where its project is open. */
export interface SessionReview {
  state(): Promise<ReviewState | null>
  /** What is not committed. Null without git. */
  diff(): Promise<Changes | null>
  turnDiff(turnId: string): Promise<TurnDiff>
  discard(input: DiscardInput): Promise<FileMove>
  undo(id: string): Promise<FileMove>
  commit(input: CommitInput): Promise<{ commit: string; files: string[] }>
  merge(input: MergeInput): Promise<MergeResult>
  /** Gives conflicts with the base to the agent. */
  resolve(): Promise<{ files: string[] }>
  pushPlan(input: PushInput): Promise<ShownPushPlan>
  push(input: PushWorkInput): Promise<PushResult>
  backPlan(turnId: string): Promise<ShownBackPlan>
  back(input: { turnId: string; overwrite: string[] }): Promise<GoneBack>
}

/**
 * Works on the changes of a session: through the server that has its project, because that knows whether an agent is at work
 * there, or else with the project open in this process. `command` is what others are told who then has it.
 */
export async function withSession<T>(
  given: string,
  command: string,
  work: (there: OpenSession) => Promise<T>,
): Promise<T> {
  const { session, machine, logRoot } = await findAnywhere(given)
  const { projectRoot } = session
  const server = machine === undefined ? await serverOf(projectRoot) : await hubServer(machine)
  if (server !== undefined) {
    const open = (stored: StoredSession, root: string): OpenSession => ({
      ...{ id: stored.id, session: stored, logRoot: root, review: inServer(server, stored) },
      other: async id => {
        const found = await findAnywhere(id)
        return open(found.session, found.logRoot)
      },
    })
    return work(open(session, logRoot))
  }
  const host = await openHost(`chirality ${command}`)
  const open = async (id: string): Promise<OpenSession> => {
    const live = await host.session(id)
    await settledSoon(live)
    const review = inProcess(host, live)
    return { id, session: live.stored, logRoot: projectRoot, review, other: open }
  }
  try {
    await host.openProject(projectRoot)
    return await work(await open(session.id))
  } finally {
    // Turns of the project may have been adopted; they go on.
    await host.close({ agents: 'leave' })
  }
}

/** The end of a turn whose process was killed is read from its raw log now. One whose agent really goes on is not waited for. */
async function settledSoon(session: LiveSession): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, SETTLE_MS)
  })
  await Promise.race([session.settled(), late])
  clearTimeout(timer)
}

const SETTLE_MS = 10_000

function inServer(
  { calls: { review, files } }: LocalServer,
  { id: sessionId, projectRoot: project }: StoredSession,
): SessionReview {
  return {
    state: () => review.state.query({ sessionId }),
    diff: () => files.diff.query({ project, sessionId }),
    turnDiff: turnId => files.turnDiff.query({ sessionId, turnId }),
    discard: input => review.discard.mutate({ sessionId, ...input }),
    undo: id => review.undo.mutate({ sessionId, id }),
    commit: input => review.commit.mutate({ sessionId, ...input }),
    merge: input => review.merge.mutate({ sessionId, ...input }),
    resolve: () => review.resolve.mutate({ sessionId }),
    pushPlan: input => review.pushPlan.query({ sessionId, ...input }),
    push: input => review.push.mutate({ sessionId, ...input }),
    backPlan: turnId => review.backPlan.query({ sessionId, turnId }),
    back: input => review.back.mutate({ sessionId, ...input }),
  }
}

function inProcess(host: SessionHost, session: LiveSession): SessionReview {
  const { projectRoot } = session.status
  return {
    state: () => reviewState(host, session),
    diff: () => host.changes.workingTree(projectRoot, workFolderOf(session.status)),
    turnDiff: turnId => turnDiff(host, session, turnId),
    discard: input => discard(host, session, input),
    undo: id => undoMove(host, session, { id, action: 'undo' }),
    commit: input => commitWork(host, session, input),
    merge: input => mergeWork(host, session, input),
    resolve: async () => {
      throw new UsageError(
        `--resolve begins a turn in which the agent may ask, and no server has the project of this session open. Start one: chirality serve --project ${projectRoot}`,
      )
    },
    pushPlan: async input => {
      const isOurs = async (id: string) => (await host.store.get(id))?.projectRoot === projectRoot
      await settlePushes(host, { session: id => host.session(id), isOurs })
      return pushPlan(host, session, input)
    },
    push: input => endingPrograms(() => pushWork(host, session, input)),
    backPlan: turnId => backPlan(host, session, turnId),
    back: input => goBackTo(host, session, input),
  }
}

/** A push that goes on would change the remote after the command ended. */
async function endingPrograms<T>(work: () => Promise<T>): Promise<T> {
  for (const signal of STOP_SIGNALS) process.on(signal, endPrograms)
  try {
    return await work()
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, endPrograms)
  }
}
