import type { CallInputs, CallOutputs } from '@chirality/server'
import { EXIT, UsageError } from '../exit-code.ts'
import { noArgument, oneArgument, readOptions } from '../options.ts'
import type { Output } from '../output.ts'
import { plain } from '../render/style.ts'
import { askProcedure, callProcedure } from '../running-server.ts'
import { serverOf } from './budget/set-limits.ts'
import { findSession } from './sessions/find-session.ts'

// What a session changed, through the server that has its project: it knows whether an agent is at work there.

type Review = CallOutputs['review']

/** The branch, what is not committed, and what was taken back. */
export async function changes(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, { json: { type: 'boolean' } })
  const there = await openSession(oneArgument(positionals, 'the id of a session'))
  const state = await there.ask<Review['state']>('review.state', {})
  if (values.json) await output.write(`${JSON.stringify(state)}\n`)
  else await output.write(state === null ? 'There is no git repository here.\n' : stateText(state))
  return EXIT.done
}

export async function commit(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    message: { type: 'string' },
    hooks: { type: 'boolean' },
    json: { type: 'boolean' },
  })
  const there = await openSession(oneArgument(positionals, 'the id of a session'))
  const proposed = async () => (await there.ask<Review['state']>('review.state', {}))?.proposedMessage
  const message = values.message ?? (await proposed()) ?? ''
  const made = await there.tell<Review['commit']>('review.commit', { message, hooks: values.hooks ?? false })
  await output.write(
    values.json
      ? `${JSON.stringify(made)}\n`
      : `${made.commit.slice(0, 9)} ${plain(message.split('\n')[0] ?? '')}\n${list(made.files)}`,
  )
  return EXIT.done
}

/** Into the base branch of its worktree. */
export async function merge(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    ...{ squash: { type: 'boolean' }, rebase: { type: 'boolean' }, resolve: { type: 'boolean' } },
    ...{ message: { type: 'string' }, json: { type: 'boolean' } },
  })
  if ([values.squash, values.rebase, values.resolve].filter(Boolean).length > 1)
    throw new UsageError('--squash, --rebase and --resolve exclude each other. Leave one in.')
  const there = await openSession(oneArgument(positionals, 'the id of a session'))
  if (values.resolve) {
    const { files } = await there.tell<Review['resolve']>('review.resolve', {})
    const said = files.length === 0 ? 'There was no conflict.\n' : `The agent resolves:\n${list(files)}`
    await output.write(values.json ? `${JSON.stringify({ files })}\n` : said)
    return EXIT.done
  }
  const how = values.squash ? 'squash' : values.rebase ? 'rebase' : 'merge'
  const message = values.message === undefined ? {} : { message: values.message }
  const result = await there.tell<Review['merge']>('review.merge', { how, ...message })
  await output.write(values.json ? `${JSON.stringify(result)}\n` : mergeText(result, how))
  return result.kind === 'conflicts' ? EXIT.failed : EXIT.done
}

/** Takes back files in the work folder of a session, or brings back what was taken. */
export async function discard(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    ...{ turn: { type: 'string' }, undo: { type: 'string' }, json: { type: 'boolean' } },
  })
  const [id, ...files] = positionals
  if (id === undefined) throw new UsageError('Say the id of a session.')
  const there = await openSession(id)
  if (values.undo !== undefined) noArgument(files)
  else if (files.length === 0) throw new UsageError('Say which files, from the root of the project.')
  const input: Omit<CallInputs['review']['discard'], 'sessionId'> = {
    files: files.map(path => ({ path })),
    ...(values.turn === undefined ? {} : { turnId: values.turn }),
  }
  const move =
    values.undo === undefined
      ? await there.tell<Review['discard']>('review.discard', input)
      : await there.tell<Review['undo']>('review.undo', { id: values.undo })
  const hint = move.state === 'done' ? `Undo: chirality discard ${there.id} --undo ${move.id}\n` : ''
  await output.write(
    values.json
      ? `${JSON.stringify(move)}\n`
      : `${plain(move.what)} (${move.state})\n${list(move.files)}${hint}`,
  )
  return EXIT.done
}

interface OpenSession {
  id: string
  ask<T>(name: string, input: object): Promise<T>
  tell<T>(name: string, input: object): Promise<T>
}

async function openSession(given: string): Promise<OpenSession> {
  const { id, projectRoot } = await findSession(given)
  const server = await serverOf(projectRoot)
  if (server === undefined)
    throw new UsageError(
      `No server has the project of this session open. Start one: chirality serve --project ${projectRoot}`,
    )
  return {
    id,
    ask: (name, input) => askProcedure(server, name, { sessionId: id, ...input }),
    tell: (name, input) => callProcedure(server, name, { sessionId: id, ...input }),
  }
}

function stateText({ branches, uncommitted, moves }: NonNullable<Review['state']>): string {
  const branch =
    branches === null
      ? 'In the folder of the project.\n'
      : `${plain(branches.branch)}: ${branches.ahead} ahead of ${plain(branches.base)}, ${branches.behind} behind\n`
  const conflicts = branches?.conflicts.length ? `Would not merge:\n${list(branches.conflicts)}` : ''
  const files =
    uncommitted.length === 0 ? 'Everything is committed.\n' : `Not committed:\n${list(uncommitted)}`
  const taken = moves.map(
    ({ id, what, state }) => `${id}  ${state.padEnd('undone'.length)}  ${plain(what)}\n`,
  )
  return `${branch}${conflicts}${files}${taken.length === 0 ? '' : `Taken back:\n${taken.join('')}`}`
}

function mergeText(result: Review['merge'], how: string): string {
  if (result.kind === 'nothing') return 'There is nothing to merge.\n'
  if (result.kind === 'merged')
    return `${how === 'rebase' ? 'Rebased' : 'Merged'}: ${result.commit.slice(0, 9)} (${result.how})\n`
  return `Nothing was changed. These files have conflicts:\n${list(result.files)}Hand them to the agent with --resolve.\n`
}

function list(files: readonly string[]): string {
  return files.map(file => `  ${plain(file)}\n`).join('')
}
