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
} from '@chirality/workspaces'
import type { WorkPlace } from '../changes/turn-changes.ts'
import type { PushResult, ShownPushPlan } from '../contract/review-calls.ts'
import { callError } from '../errors/call-error.ts'
import type { AppServices } from '../trpc/context.ts'
import { liveSession } from '../trpc/live-session.ts'
import { recordPush } from './begun-pushes.ts'
import { branchesOf, proposedMessage } from './session-review.ts'

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
    const forge = await forgeFor(plan.url, branch, base)
    const request = { branch, base, title, body: body.join('\n\n') }
    return {
      ...{ ...plan, base, command: shellWords(plan.command) },
      uncommitted: (await gitStatus(place.folder))?.files.length ?? 0,
      pullRequest:
        'reason' in forge
          ? { can: false, reason: forge.reason }
          : {
              ...{ can: true, title, body: request.body },
              command: shellWords(pullRequestCommand({ ...request, forge })),
            },
    }
  })
}

export interface PushWorkInput extends PushInput {
  /** Both as they were shown. */
  commit: string
  url: string
  hooks?: boolean | undefined
  pullRequest?: { title: string; body: string; draft?: boolean | undefined } | undefined
}

/** Pushes the branch as it was shown, and opens a pull request if that was asked for. Never forces. */
export async function pushWork(services: AppServices, input: PushWorkInput): Promise<PushResult> {
  const { sessionId, remote, commit, url, hooks, pullRequest } = input
  return inRepository(services, sessionId, async ({ session, place: { repository }, branch, base }) => {
    // Before anything is sent.
    const forge = pullRequest && (await requireForge(url, branch, base))
    const to = await remoteOf(repository, { branch, remote })
    const sent = { remote: to, commit, withRequest: pullRequest !== undefined }
    const { pushed, opened } = await recordPush(services, { sessionId, branch, sent }, async marker => {
      const pushed = await pushBranch(repository, { branch, remote, commit, url, hooks, marker })
      if (pullRequest === undefined || forge === undefined) return { pushed, opened: null }
      const { title, body, draft: isDraft } = pullRequest
      return { pushed, opened: await openPullRequest({ forge, branch, base, title, body, isDraft, marker }) }
    })
    const did = [
      ...(pushed.kind === 'up-to-date' ? [] : [`Pushed ${branch} to ${pushed.remote}.`]),
      ...(opened?.kind === 'opened' ? [`Opened the pull request ${opened.url}`] : []),
    ].join(' ')
    if (did !== '') await session.tellAgent({ shown: did, note: `The user did this: ${did}` })
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

async function requireForge(url: string, branch: string, base: string | null): Promise<Forge> {
  const forge = await forgeFor(url, branch, base)
  if ('reason' in forge) throw callError('review-refused', `${forge.reason} Nothing was pushed.`)
  return forge
}

async function forgeFor(
  url: string,
  branch: string,
  base: string | null,
): Promise<Forge | { reason: string }> {
  return branch === base ? { reason: 'The branch is the base itself.' } : forgeOf(url)
}

/** As it could be typed. */
function shellWords(words: readonly string[]): string {
  return words
    .map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ')
}
