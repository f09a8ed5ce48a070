import { visibleLine } from '@chirality/core'
import {
  type DiscardInput,
  type PushResult,
  type ReviewState,
  readSessionLog,
  type ShownPushPlan,
} from '@chirality/sessions'
import type { MergeResult } from '@chirality/workspaces'
import { confirmed } from '../confirm.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { noArgument, oneArgument, readOptions } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { plain } from '../render/style.ts'
import { type OpenSession, withSession } from './review/open-session.ts'
import { patchOfFile } from './review/patch-of-file.ts'

/** The branch, what is not committed, and what was taken back; or the changes of one file, numbered. */
export async function changes(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, { turn: { type: 'string' }, json: { type: 'boolean' } })
  const [session, file, ...more] = positionals
  return withSession(
    oneArgument(session === undefined ? [] : [session], 'the id of a session'),
    'changes',
    async there => {
      noArgument(more)
      if (file !== undefined) {
        const hunks = await hunksOf(there, file, values.turn)
        const numbered = hunks.map(({ head, lines }, at) => `${at + 1}  ${head}\n${lines.map(row).join('')}`)
        await output.write(values.json ? `${JSON.stringify(hunks)}\n` : numbered.join(''))
        return EXIT.done
      }
      if (values.turn !== undefined)
        throw new UsageError('--turn is for one file: chirality changes SESSION FILE')
      const state = await there.review.state()
      if (values.json) await output.write(`${JSON.stringify(state)}\n`)
      else await output.write(state === null ? 'There is no git repository here.\n' : stateText(state))
      return EXIT.done
    },
  )
}

export async function commit(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    message: { type: 'string' },
    hooks: { type: 'boolean' },
    json: { type: 'boolean' },
  })
  return withSession(oneArgument(positionals, 'the id of a session'), 'commit', async there => {
    const proposed = async () => (await there.review.state())?.proposedMessage
    const message = values.message ?? (await proposed()) ?? ''
    const made = await there.review.commit({ message, hooks: values.hooks ?? false })
    await output.write(
      values.json
        ? `${JSON.stringify(made)}\n`
        : `${made.commit.slice(0, 9)} ${plain(message.split('\n')[0] ?? '')}\n${list(made.files)}`,
    )
    return EXIT.done
  })
}

/** Into the base branch of its worktree. */
export async function merge(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    ...{ squash: { type: 'boolean' }, rebase: { type: 'boolean' }, resolve: { type: 'boolean' } },
    ...{ message: { type: 'string' }, json: { type: 'boolean' } },
  })
  if ([values.squash, values.rebase, values.resolve].filter(Boolean).length > 1)
    throw new UsageError('--squash, --rebase and --resolve exclude each other. Leave one in.')
  return withSession(oneArgument(positionals, 'the id of a session'), 'merge', async there => {
    if (values.resolve) {
      const { files } = await there.review.resolve()
      const said = files.length === 0 ? 'There was no conflict.\n' : `The agent resolves:\n${list(files)}`
      await output.write(values.json ? `${JSON.stringify({ files })}\n` : said)
      return EXIT.done
    }
    const how = values.squash ? 'squash' : values.rebase ? 'rebase' : 'merge'
    const message = values.message === undefined ? {} : { message: values.message }
    const result = await there.review.merge({ how, ...message })
    await output.write(values.json ? `${JSON.stringify(result)}\n` : mergeText(result, how))
    return result.kind === 'conflicts' ? EXIT.failed : EXIT.done
  })
}

/** Takes back files in the work folder of a session, or some of the changes in one, or brings back what was taken. */
export async function discard(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    ...{ turn: { type: 'string' }, undo: { type: 'string' }, json: { type: 'boolean' } },
    hunk: { type: 'string' },
  })
  const [id, ...files] = positionals
  if (id === undefined) throw new UsageError('Say the id of a session.')
  if (values.undo !== undefined) noArgument(files)
  else if (files.length === 0) throw new UsageError('Say which files, from the root of the project.')
  if (values.hunk !== undefined && (files.length !== 1 || values.undo !== undefined))
    throw new UsageError('--hunk is for one file: chirality discard SESSION FILE --hunk 1,3')
  return withSession(id, 'discard', async there => {
    const input = async (): Promise<DiscardInput> => ({
      files:
        values.hunk === undefined
          ? files.map(path => ({ path }))
          : [{ path: files[0] ?? '', hunks: await chosenHunks(there, { ...values, file: files[0] ?? '' }) }],
      ...(values.turn === undefined ? {} : { turnId: values.turn }),
    })
    const move =
      values.undo === undefined
        ? await there.review.discard(await input())
        : await there.review.undo(values.undo)
    const hint = move.state === 'done' ? `Undo: chirality discard ${there.id} --undo ${move.id}\n` : ''
    await output.write(
      values.json
        ? `${JSON.stringify(move)}\n`
        : `${plain(move.what)} (${move.state})\n${list(move.files)}${hint}`,
    )
    return EXIT.done
  })
}

interface Hunk {
  /** `@@ -1,3 +1,4 @@` */
  head: string
  oldStart: number
  newStart: number
  lines: string[]
}

async function chosenHunks(
  there: OpenSession,
  { file, hunk, turn }: { file: string; hunk?: string; turn?: string },
): Promise<Omit<Hunk, 'head'>[]> {
  const all = await hunksOf(there, file, turn)
  return [...new Set(hunk?.split(','))].map(word => {
    const found = /^[1-9]\d{0,6}$/.test(word) ? all[Number(word) - 1] : undefined
    if (found === undefined)
      throw new UsageError(
        `${visibleLine(file)} has no change "${word}", but ${all.length}: chirality changes ${there.id} ${typed(file)}`,
      )
    const { head: _, ...chosen } = found
    return chosen
  })
}

/** In the order of the file, as `chirality changes` numbers them. */
async function hunksOf(there: OpenSession, file: string, turnId: string | undefined): Promise<Hunk[]> {
  const found = turnId === undefined ? await there.review.diff() : await there.review.turnDiff(turnId)
  const own = patchOfFile(found?.patch ?? '', file)
  if (own === undefined) throw new UsageError(`${visibleLine(file)} has no change of text here.`)
  return own
    .split(/^(?=@@ )/m)
    .slice(1)
    .map(hunkIn)
}

function hunkIn(text: string): Hunk {
  const [head = '', ...lines] = text.split('\n')
  const [, oldStart, newStart] = /^@@ -(\d+)\S* \+(\d+)/.exec(head) ?? []
  return {
    ...{ head, oldStart: Number(oldStart), newStart: Number(newStart) },
    lines: lines.filter((line, at) => !line.startsWith('\\') && !(line === '' && at === lines.length - 1)),
  }
}

function row(line: string): string {
  return `   ${plain(line)}\n`
}

/** Through the user's own git, and gh or glab. What it would do is said first. */
export async function push(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    ...{ remote: { type: 'string' }, hooks: { type: 'boolean' }, 'dry-run': { type: 'boolean' } },
    ...{ pr: { type: 'boolean' }, title: { type: 'string' }, draft: { type: 'boolean' } },
    ...{ yes: { type: 'boolean' }, json: { type: 'boolean' }, into: { type: 'string' } },
  })
  if (!values.pr && (values.title !== undefined || values.draft || values.into !== undefined))
    throw new UsageError('--title, --draft and --into are of a pull request: say --pr, too.')
  return withSession(oneArgument(positionals, 'the id of a session'), 'push', async there => {
    const remote = values.remote === undefined ? {} : { remote: values.remote }
    const plan = await there.review.pushPlan(remote)
    if (values.pr && !plan.pullRequest.can) throw new UsageError(plan.pullRequest.reason)
    const request = plan.pullRequest.can && values.pr ? plan.pullRequest : undefined
    const into = request?.into.find(({ repository }) => repository === (values.into ?? repository))
    if (request !== undefined && into === undefined) {
      const places = request.into.map(({ repository }) => plain(repository)).join(', ')
      throw new UsageError(`A pull request can be opened in: ${places}`)
    }
    if (values['dry-run']) {
      await output.write(values.json ? `${JSON.stringify(plan)}\n` : planText(plan, into?.command))
      return EXIT.done
    }
    if (plan.kind === 'up-to-date' && !values.pr) {
      await output.write(
        values.json ? `${JSON.stringify(plan)}\n` : `Nothing to push: ${plain(plan.remote)} has it all.\n`,
      )
      return EXIT.done
    }
    if (!values.json) await output.write(planText(plan, into?.command))
    if (
      !values.yes &&
      !(await confirmed('Push this?', 'Say --yes to push it, or --dry-run to only see it.'))
    ) {
      await tell('chirality: Nothing was pushed.\n')
      return EXIT.failed
    }
    const pushed = await there.review.push({
      ...{ ...remote, commit: plan.commit, url: plan.url, hooks: values.hooks ?? false },
      ...(request && {
        pullRequest: {
          ...{ title: values.title ?? request.title, body: request.body, draft: values.draft ?? false },
          ...(into && { into: into.repository }),
        },
      }),
    })
    await output.write(values.json ? `${JSON.stringify(pushed)}\n` : pushedText(pushed))
    return pushed.pullRequest?.kind === 'failed' ? EXIT.failed : EXIT.done
  })
}

function planText(plan: ShownPushPlan, requestCommand?: string): string {
  const { remote, url, branch, kind, commits, total, uncommitted, command, pullRequest } = plan
  const news =
    kind === 'new' ? 'a new branch there' : kind === 'forward' ? 'moves forward' : 'is there already'
  const shown = commits.map(({ commit, subject }) => `  ${commit.slice(0, 9)} ${plain(subject)}\n`)
  const more = total > commits.length ? `  and ${total - commits.length} more\n` : ''
  const loose = uncommitted > 0 ? `Not committed, and not pushed: ${uncommitted} changed files\n` : ''
  const request =
    requestCommand !== undefined && pullRequest.can
      ? `${plain(requestCommand)}\n${plain(pullRequest.body)}\n`
      : ''
  return `${plain(branch)} to ${plain(remote)} (${plain(url)}): ${news}\n${shown.join('')}${more}${loose}${plain(command)}\n${request}`
}

function pushedText({ branch, remote, kind, said, pullRequest }: PushResult): string {
  const what =
    kind === 'up-to-date' ? `${plain(remote)} had it all.` : `Pushed ${plain(branch)} to ${plain(remote)}.`
  const words = said === '' ? '' : `${said.split('\n').map(row).join('')}`
  if (pullRequest === null) return `${what}\n${words}`
  const request =
    pullRequest.kind === 'opened' ? pullRequest.url : `No pull request: ${plain(pullRequest.reason)}`
  return `${what}\n${words}${request}\n`
}

/** Files and conversation as they were before a turn; without a turn, which turns there are. */
export async function back(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    ...{ overwrite: { type: 'boolean' }, yes: { type: 'boolean' }, undo: { type: 'boolean' } },
    json: { type: 'boolean' },
  })
  const [session, given, ...more] = positionals
  return withSession(
    oneArgument(session === undefined ? [] : [session], 'the id of a session'),
    'back',
    async there => {
      noArgument(more)
      if (values.undo) {
        noArgument(given === undefined ? [] : [given])
        return undoBack(there, output, values.json)
      }
      const turns = await turnsOf(there)
      if (given === undefined) {
        const rows = turns.map(({ turnId, prompt }) => `${turnId}  ${plain(prompt).slice(0, 80)}\n`)
        await output.write(values.json ? `${JSON.stringify(turns)}\n` : rows.join(''))
        return EXIT.done
      }
      const turn = turns.filter(({ turnId }) => turnId.startsWith(given))
      const [only] = turn
      if (only === undefined || turn.length > 1)
        throw new UsageError(
          `${turn.length === 0 ? 'No turn begins' : 'Several turns begin'} with "${given}": chirality back ${there.id}`,
        )
      const plan = await there.review.backPlan(only.turnId)
      const { files, changedSince, cannotUndo } = plan
      const since = values.overwrite ? 'is overwritten' : 'stays as it is; --overwrite restores it too'
      if (!values.json)
        await output.write(
          [
            `Back to before: ${plain(only.prompt).slice(0, 200)}\n`,
            files.length === 0 ? 'No file changes.\n' : `Files as they were then:\n${list(files)}`,
            changedSince.length === 0 ? '' : `Somebody else changed since (${since}):\n${list(changedSince)}`,
            `Not undone:\n${list(cannotUndo)}`,
          ].join(''),
        )
      if (!values.yes && !(await confirmed('Go back?', 'Say --yes to go back. It can be undone.'))) {
        await tell('chirality: Nothing was changed.\n')
        return EXIT.failed
      }
      const overwrite = values.overwrite ? changedSince : []
      const gone = await there.review.back({ turnId: only.turnId, overwrite })
      await output.write(
        values.json
          ? `${JSON.stringify(gone)}\n`
          : [
              gone.left.length === 0
                ? ''
                : `Not restored, because somebody else changed them meanwhile:\n${list(gone.left)}`,
              `The conversation goes on in ${gone.session.id}. Undo: chirality back ${there.id} --undo\n`,
            ].join(''),
      )
      return EXIT.done
    },
  )
}

/** The newest going back that is not undone, in the session that it left or in the one that it made. */
async function undoBack(there: OpenSession, output: Output, json = false): Promise<number> {
  const before = there.session.forkedFrom?.sessionId
  const places = [there, ...(before === undefined ? [] : [await there.other(before)])]
  for (const place of places) {
    const state = await place.review.state()
    const move = state?.moves.find(
      ({ cause, state: now }) =>
        now === 'done' && cause.kind === 'back' && (place === there || cause.sessionId === there.id),
    )
    if (move === undefined) continue
    const undone = await place.review.undo(move.id)
    await output.write(
      json
        ? `${JSON.stringify(undone)}\n`
        : `Files and conversation are as they were. It goes on in ${place.id}.\n${list(undone.files)}`,
    )
    return EXIT.done
  }
  throw new UsageError('Nothing here went back, or it is undone already.')
}

async function turnsOf({ session, logRoot }: OpenSession): Promise<{ turnId: string; prompt: string }[]> {
  const log = await readSessionLog(logRoot, session.id)
  const turns: { turnId: string; prompt: string }[] = []
  try {
    for (let seq = 0; ; ) {
      const page = log?.readAfter(seq, 2000) ?? []
      for (const { event, turnId } of page)
        if (event.type === 'turn:start' && turnId) turns.push({ turnId, prompt: event.message ?? '' })
      const last = page.at(-1)
      if (last === undefined) return turns
      seq = last.seq
    }
  } finally {
    log?.close()
  }
}

function stateText({ branches, uncommitted, submodules = [], moves }: ReviewState): string {
  const branch =
    branches === null
      ? 'In the folder of the project.\n'
      : `${plain(branches.branch)}: ${branches.ahead} ahead of ${plain(branches.base)}, ${branches.behind} behind\n`
  const conflicts = branches?.conflicts.length ? `Would not merge:\n${list(branches.conflicts)}` : ''
  const blocked = branches?.blocked ? `No merge now: ${plain(branches.blocked)}\n` : ''
  const committed = submodules.length === 0 ? 'Everything is committed.\n' : ''
  const files = uncommitted.length === 0 ? committed : `Not committed:\n${list(uncommitted)}`
  const moved = submodules.map(({ path, from, to }) => {
    const where = to === null ? 'is gone' : `${from?.slice(0, 9) ?? 'new'} → ${to.slice(0, 9)}`
    return `  ${visibleLine(path)} ${where}\n`
  })
  const others =
    moved.length === 0 ? '' : `Submodules at another commit, which only git commits:\n${moved.join('')}`
  const taken = moves.map(
    ({ id, what, state }) => `${id}  ${state.padEnd('undone'.length)}  ${plain(what)}\n`,
  )
  return `${branch}${conflicts}${blocked}${files}${others}${taken.length === 0 ? '' : `Taken back:\n${taken.join('')}`}`
}

function mergeText(result: MergeResult, how: string): string {
  if (result.kind === 'nothing') return 'There is nothing to merge.\n'
  if (result.kind === 'merged')
    return `${how === 'rebase' ? 'Rebased' : 'Merged'}: ${result.commit.slice(0, 9)} (${result.how})\n`
  return `Nothing was changed. These files have conflicts:\n${list(result.files)}Hand them to the agent with --resolve.\n`
}

function list(files: readonly string[]): string {
  return files.map(file => `  ${visibleLine(file)}\n`).join('')
}

/** As a shell reads it. */
function typed(file: string): string {
  if (/^[\w./@%+=:,-]+$/.test(file)) return file
  return visibleLine(file) === file ? `'${file.replaceAll("'", "'\\''")}'` : `"${visibleLine(file)}"`
}
