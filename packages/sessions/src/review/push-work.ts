import {
  type Forge,
  forgeOf,
  type GitRepository,
  git,
  gitStatus,
  type OpenedPullRequest,
  openPullRequest,
  type Pushed,
  type PushPlan,
  planPush,
  pullRequestCommand,
  pushBranch,
  remoteOf,
  requestName,
  urlOf,
  type WorkPlace,
  workspaceError,
} from '@chirality/workspaces'
import type { LiveSession } from '../status/live-session.ts'
import { recordPush } from './begun-pushes.ts'
import { inWorkFolder, type ReviewHost } from './review-host.ts'
import { branchesOf, proposedMessage } from './session-review.ts'
import { tellDone } from './tell-done.ts'

export interface PushInput {
  remote?: string | undefined
}

/** What a push would do, for a person. */
export interface ShownPushPlan extends Omit<PushPlan, 'command'> {
  /** Null: the default branch there. */
  base: string | null
  /** As it is run. */
  command: string
  /** Changed files that are in no commit, and are not pushed. */
  uncommitted: number
  pullRequest: RequestPlan | { can: false; reason: string }
}

export interface RequestPlan {
  can: true
  title: string
  body: string
  program: Forge['program']
  /** Where it can be opened; the first is proposed. */
  into: { repository: string; command: string }[]
}

/** Null if no pull request was asked for. */
export type PushResult = Pushed & { pullRequest: OpenedPullRequest | null }

/** What a push would do. The remote is asked, and nothing is sent. */
export async function pushPlan(
  host: ReviewHost,
  session: LiveSession,
  { remote }: PushInput,
): Promise<ShownPushPlan> {
  return inRepository(host, session, async ({ place, branch, base }) => {
    const begun = { sessionId: session.id, branch, sent: null }
    const plan = await recordPush(host, begun, marker =>
      planPush(place.repository, { branch, remote, marker }),
    )
    const [title = '', ...body] = proposedMessage(session, []).split('\n\n')
    const where = await requestPlaces(place.repository, { ...plan, base })
    const request = { branch, base, title, body: body.join('\n\n') }
    return {
      ...plan,
      base,
      command: shellWords(plan.command),
      uncommitted: (await gitStatus(place.folder))?.files.length ?? 0,
      pullRequest:
        'reason' in where
          ? { can: false, reason: where.reason }
          : {
              can: true,
              title,
              body: request.body,
              program: where.forge.program,
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
export async function pushWork(
  host: ReviewHost,
  session: LiveSession,
  input: PushWorkInput,
): Promise<PushResult> {
  const { remote, commit, url, hooks, pullRequest } = input
  return inRepository(host, session, async ({ place: { repository }, branch, base }) => {
    // Before anything is sent.
    const to = await remoteOf(repository, { branch, remote })
    const where = pullRequest && (await requirePlaces(repository, { url, remote: to, branch, base }))
    const wanted = pullRequest?.into
    const into = where?.into.find(({ repository: name }) => wanted === undefined || name === wanted)
    if (where !== undefined && into === undefined)
      throw workspaceError(
        'review-refused',
        `No request can be opened in ${wanted} from here. Nothing was pushed.`,
      )
    const sent = { remote: to, commit, withRequest: pullRequest !== undefined }
    const begun = { sessionId: session.id, branch, sent }
    const { pushed, opened } = await recordPush(host, begun, async marker => {
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
      ...(opened?.kind === 'opened' && into ? [`Opened the ${requestName(into)} ${opened.url}`] : []),
    ].join(' ')
    if (did !== '') await tellDone(host, session, { shown: did, note: `The user did this: ${did}` })
    return { ...pushed, pullRequest: opened }
  })
}

interface Pushing {
  place: WorkPlace
  branch: string
  base: string | null
}

async function inRepository<T>(
  host: ReviewHost,
  session: LiveSession,
  work: (pushing: Pushing) => Promise<T>,
): Promise<T> {
  host.moves.requireStaying(session.id)
  const branches = await branchesOf(host, session)
  const result = await inWorkFolder(host, session, async place => {
    const branch = branches?.branch ?? (await checkedOut(place.repository))
    return { done: await work({ place, branch, base: branches?.base ?? null }) }
  })
  if (result !== undefined) return result.done
  throw workspaceError('review-refused', 'There is no git repository here. Nothing can be pushed.')
}

async function checkedOut(repository: GitRepository): Promise<string> {
  const found = await git(repository, ['symbolic-ref', '--quiet', '--short', 'HEAD'], { okCodes: [0, 1] })
  const branch = found.toString('utf8').trim()
  if (branch === '')
    throw workspaceError(
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
  if ('reason' in where) throw workspaceError('review-refused', `${where.reason} Nothing was pushed.`)
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
