import type { LiveSession } from '@chirality/sessions'
import {
  type Forge,
  forgeOf,
  type GitRepository,
  git,
  gitStatus,
  openPullRequest,
  planPush,
  pullRequestCommand,
  pushBranch,
  remoteOf,
  requestWords,
  urlOf,
} from '@chirality/workspaces'
import type { WorkPlace } from '../changes/turn-changes.ts'
import type { PushResult, ShownPushPlan } from '../contract/review-calls.ts'
import { callError } from '../errors/call-error.ts'
import type { AppServices } from '../trpc/context.ts'
import { liveSession } from '../trpc/live-session.ts'
import { recordPush } from './begun-pushes.ts'
import { branchesOf, proposedMessage } from './session-review.ts'
import { tellDone } from './tell-done.ts'

export interface PushInput {
  sessionId: string
  remote?: string | undefined
}

/** What a push would do. The remote is asked, and nothing is sent. */
export async function pushPlan(
  services: AppServices,
  { sessionId, remote }: PushInput,
): Promise<ShownPushPlan> {
  return inRepository(services, sessionId, async ({ session, place, branch, base }) => {
    const begun = { sessionId, branch, sent: null }
    const plan = await recordPush(services, begun, marker =>
      planPush(place.repository, { branch, remote, marker }),
    )
    const [title = '', ...body] = proposedMessage(session, []).split('\n\n')
    const where = await requestPlaces(place.repository, { ...plan, base })
    const request = { branch, base, title, body: body.join('\n\n') }
    return {
      ...{ ...plan, base, command: shellWords(plan.command) },
      uncommitted: (await gitStatus(place.folder))?.files.length ?? 0,
      pullRequest:
        'reason' in where
          ? { can: false, reason: where.reason }
          : {
              ...{ can: true, title, body: request.body, program: where.forge.program },
              into: where.into.map(into => ({
                repository: into.repository,
                command: shellWords(pullRequestCommand({ ...request, forge: where.forge, into })),
              })),
            },
    }
  })
}

export interface PushWorkInput extends PushInput {
  /** Both as they were shown. */
  commit: string
  url: string
  hooks?: boolean | undefined
  pullRequest?:
    | { title: string; body: string; draft?: boolean | undefined; into?: string | undefined }
    | undefined
}

/** Pushes the branch as it was shown, and opens a pull request if that was asked for. Never forces. */
export async function pushWork(services: AppServices, input: PushWorkInput): Promise<PushResult> {
  const { sessionId, remote, commit, url, hooks, pullRequest } = input
  return inRepository(services, sessionId, async ({ session, place: { repository }, branch, base }) => {
    // Before anything is sent.
    const to = await remoteOf(repository, { branch, remote })
    const where = pullRequest && (await requirePlaces(repository, { url, remote: to, branch, base }))
    const wanted = pullRequest?.into
    const into = where?.into.find(({ repository: name }) => wanted === undefined || name === wanted)
    if (where !== undefined && into === undefined)
      throw callError(
        'review-refused',
        `No request can be opened in ${wanted} from here. Nothing was pushed.`,
      )
    const sent = { remote: to, commit, withRequest: pullRequest !== undefined }
    const { pushed, opened } = await recordPush(services, { sessionId, branch, sent }, async marker => {
      const pushed = await pushBranch(repository, { branch, remote, commit, url, hooks, marker })
      if (pullRequest === undefined || where === undefined || into === undefined)
        return { pushed, opened: null }
      const { title, body, draft: isDraft } = pullRequest
      const { forge } = where
      const opened = await openPullRequest({ forge, into, branch, base, title, body, isDraft, marker })
      return { pushed, opened }
    })
    const did = [
      ...(pushed.kind === 'up-to-date' ? [] : [`Pushed ${branch} to ${pushed.remote}.`]),
      ...(opened?.kind === 'opened' && into ? [`Opened the ${requestWords(into)} ${opened.url}`] : []),
    ].join(' ')
    if (did !== '') await tellDone(services, session, { shown: did, note: `The user did this: ${did}` })
    return { ...pushed, pullRequest: opened }
  })
}

interface Pushing {
  session: LiveSession
  place: WorkPlace
  branch: string
  base: string | null
}

async function inRepository<T>(
  services: AppServices,
  sessionId: string,
  work: (pushing: Pushing) => Promise<T>,
): Promise<T> {
  const session = await liveSession(services, sessionId)
  services.host.moves.requireStaying(sessionId)
  const branches = await branchesOf(services, session)
  const result = await services.changes.inWorkFolder(session, async place => {
    const branch = branches?.branch ?? (await checkedOut(place.repository))
    return { done: await work({ session, place, branch, base: branches?.base ?? null }) }
  })
  if (result !== undefined) return result.done
  throw callError('review-refused', 'There is no git repository here. Nothing can be pushed.')
}

async function checkedOut(repository: GitRepository): Promise<string> {
  const found = await git(repository, ['symbolic-ref', '--quiet', '--short', 'HEAD'], { okCodes: [0, 1] })
  const branch = found.toString('utf8').trim()
  if (branch === '')
    throw callError(
      'review-refused',
      'No branch is checked out here, so there is none to push. Make one: git switch -c NAME',
    )
  return branch
}

interface Places {
  forge: Forge
  /** The one that is proposed first. */
  into: Forge[]
}

interface Pushable {
  url: string
  remote: string
  branch: string
  base: string | null
}

async function requirePlaces(repository: GitRepository, pushable: Pushable): Promise<Places> {
  const where = await requestPlaces(repository, pushable)
  if ('reason' in where) throw callError('review-refused', `${where.reason} Nothing was pushed.`)
  return where
}

/** Where a request can be opened: for a fork also in the repository that the remote `upstream` is, which is proposed first. */
async function requestPlaces(
  repository: GitRepository,
  { url, remote, branch, base }: Pushable,
): Promise<Places | { reason: string }> {
  const forge: Forge | { reason: string } = await forgeOf(url)
  if ('reason' in forge) return forge
  const address = remote === UPSTREAM ? undefined : await urlOf(repository, UPSTREAM)
  const above = address === undefined ? undefined : await forgeOf(address)
  const isFork =
    above !== undefined &&
    !('reason' in above) &&
    above.host === forge.host &&
    above.repository !== forge.repository
  const own = branch === base ? [] : [forge]
  const into = isFork ? [above, ...own] : own
  return into.length === 0 ? { reason: 'The branch is the base itself.' } : { forge, into }
}

const UPSTREAM = 'upstream'

/** As it could be typed. */
function shellWords(words: readonly string[]): string {
  return words
    .map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ')
}
