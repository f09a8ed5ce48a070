import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  findProjectOwner,
  openRadar,
  SessionStore,
  type StoredSession,
  userDataFolder,
} from '@chirality/sessions'
import {
  diskUse,
  type KeptWork,
  type ListedWorktree,
  projectOf,
  type SessionOverlap,
  sessionOverlaps,
  Worktrees,
} from '@chirality/workspaces'
import { EXIT, UsageError } from '../exit-code.ts'
import { chooseAction, noArgument, oneArgument, projectFolder, readOptions } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { plain } from '../render/style.ts'
import { serverOf } from '../running-server.ts'

/** The worktrees that sessions work in. */
export async function worktrees(args: string[], output: Output): Promise<number> {
  const { run, rest } = chooseAction('worktrees', args, { list, prune, restore, forget })
  return run(rest, output)
}

const open = () => new Worktrees(join(userDataFolder(), 'worktrees'))

/** With the session that works in it, where it is, what it takes, and what is kept of a removed one. */
async function list(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    ...{ project: { type: 'string' }, all: { type: 'boolean' }, json: { type: 'boolean' } },
  })
  noArgument(positionals)
  if (values.all && values.project !== undefined)
    throw new UsageError('--all and --project exclude each other. Leave one out.')
  const project = values.all ? undefined : await projectFolder(values.project)
  const found = await listed(project)
  for (const { worktree, session } of found) {
    const bytes = worktree.condition === 'ready' ? await diskUse(worktree) : 0
    const overlaps = session === undefined ? [] : await overlapsOf(worktree, session)
    const facts = {
      ...worktree,
      project: projectOf(worktree),
      sessionId: session?.id ?? null,
      bytes,
      overlaps,
    }
    const warning = overlaps.map(overlapText).join('')
    await output.write(values.json ? `${JSON.stringify(facts)}\n` : line(worktree, session, bytes) + warning)
  }
  if (found.length === 0)
    await tell(`chirality: No worktrees${project === undefined ? '' : ` of ${project}`} yet.\n`)
  return EXIT.done
}

/** Other sessions that changed the same files, by what their last turns left. */
async function overlapsOf(worktree: ListedWorktree, session: StoredSession): Promise<SessionOverlap[]> {
  if (worktree.condition !== 'ready') return []
  const radar = await openRadar(projectOf(worktree), open())
  return radar === undefined ? [] : sessionOverlaps(radar, session.id)
}

function overlapText({ sessionId, title, files }: SessionOverlap): string {
  const who = title === null ? sessionId : `"${plain(title)}"`
  const named = files.slice(0, MAX_NAMED).map(({ path, conflicts, own }) => {
    const lines = own.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).slice(0, MAX_NAMED)
    return `${plain(path)}${lines.length > 0 ? `:${lines.join(',')}` : ''}${conflicts ? ' (would not merge)' : ''}`
  })
  const more = files.length > MAX_NAMED ? ` and ${files.length - MAX_NAMED} more` : ''
  return `  also changed by ${who}: ${named.join(', ')}${more}\n`
}

const MAX_NAMED = 5

/** Removes the named ones, or all whose session was deleted. What only they have is kept, and named. */
async function prune(args: string[], output: Output): Promise<number> {
  const { values, positionals: ids } = readOptions(args, {
    ...{ project: { type: 'string' }, all: { type: 'boolean' } },
  })
  if (ids.length > 0 && (values.all || values.project !== undefined))
    throw new UsageError('Name worktrees, or a project, or --all; not two of them.')
  const project = values.all || ids.length > 0 ? undefined : await projectFolder(values.project)
  const all = await listed(project)
  const unknown = ids.find(id => all.every(({ worktree }) => worktree.id !== id))
  if (unknown !== undefined)
    throw new UsageError(`There is no worktree ${unknown}. \`worktrees list --all\` shows them.`)
  const wanted = all.filter(({ worktree, session }) =>
    ids.length > 0
      ? ids.includes(worktree.id)
      : session === undefined && (worktree.condition === 'ready' || worktree.condition === 'missing'),
  )
  for (const { worktree, session } of wanted) {
    const kept = await remove(worktree, session)
    await output.write(
      `${worktree.id}  ${plain(worktree.branch)} is removed. ${keptText(worktree.id, kept)}\n`,
    )
  }
  if (wanted.length === 0) await tell('chirality: Every worktree has its session. Nothing was removed.\n')
  return EXIT.done
}

/** A removed or missing one, with its branch, its files and what was staged. */
async function restore(args: string[], output: Output): Promise<number> {
  const { positionals } = readOptions(args, {})
  const { folder, branch } = await open().restore(oneArgument(positionals, 'the id of a worktree'))
  await output.write(`${plain(branch)} is in ${plain(folder)} again.\n`)
  return EXIT.done
}

/** Gives up what is kept of a removed one, or lets go of one whose repository is gone. No file is deleted. */
async function forget(args: string[], output: Output): Promise<number> {
  const { positionals } = readOptions(args, {})
  const { id, folder, branch, kept } = await open().forget(oneArgument(positionals, 'the id of a worktree'))
  const left = existsSync(folder) ? ` Its files stay in ${plain(folder)}: delete them yourself.` : ''
  const last = kept === undefined ? '' : ` Its last commit was ${kept.head}.`
  await output.write(`${id}  ${plain(branch)} is forgotten.${last}${left}\n`)
  return EXIT.done
}

interface Used {
  worktree: ListedWorktree
  session: StoredSession | undefined
}

async function listed(project: string | undefined): Promise<Used[]> {
  const found = (await open().list()).filter(
    worktree => project === undefined || projectOf(worktree) === resolve(project),
  )
  const projectRoots = [...new Set(found.map(projectOf))]
  const { sessions } = await new SessionStore().page({ projectRoots, limit: Number.POSITIVE_INFINITY })
  return found.map(worktree => ({
    worktree,
    session: sessions.find(session => session.worktree === worktree.id),
  }))
}

/** The server that has the project knows whether an agent works there. Without one, the session's file says it. */
async function remove(worktree: ListedWorktree, session: StoredSession | undefined): Promise<Kept> {
  const project = projectOf(worktree)
  const server = await serverOf(project)
  if (server !== undefined) return (await server.calls.worktrees.remove.mutate({ id: worktree.id })).kept
  if (session !== undefined && (session.status !== 'idle' || (await findProjectOwner(project)) !== undefined))
    throw new UsageError(`An agent works in ${worktree.folder}. Stop it first.`)
  return (await open().remove(worktree.id)) ?? null
}

type Kept = Pick<KeptWork, 'commits' | 'files'> | null

function keptText(id: string, kept: Kept): string {
  if (kept === null) return 'All that it had is elsewhere too.'
  const parts = [count(kept.commits, 'commit'), count(kept.files, 'changed file')].filter(part => part !== '')
  return `Kept: ${parts.join(' and ') || 'its branch'}; \`chirality worktrees restore ${id}\` brings it back.`
}

function count(number: number, what: string): string {
  return number === 0 ? '' : `${number} ${what}${number === 1 ? '' : 's'}`
}

function line(worktree: ListedWorktree, session: StoredSession | undefined, bytes: number): string {
  const { id, branch, folder, condition, kept } = worktree
  const user = session === undefined ? 'no session' : plain(session.title ?? session.id)
  const place = {
    ready: `${(bytes / 1_000_000).toFixed(1)} MB  ${plain(folder)}`,
    missing: `its folder is gone: chirality worktrees restore ${id}`,
    orphaned: `its repository ${plain(worktree.repository)} is gone: chirality worktrees forget ${id}`,
    removed: `removed. ${keptText(id, kept ?? null)}`,
  }[condition]
  return `${id}  ${plain(branch)}  ${user}\n  ${place}\n`
}
