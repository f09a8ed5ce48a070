import { formatDuration, usdText, VERDICT_WORDS } from '@chirality/core'
import {
  awaitedCommands,
  claimedIn,
  flagsOf,
  isOver,
  type LoopBook,
  type LoopState,
  lastFailure,
  spentOf,
  tasksToGo,
  verdictOf,
  warningsOf,
} from '@chirality/loops'
import { plain } from '../../render/style.ts'
import { takeOverWords } from './take-over.ts'

/** What `loop status --json` prints of a loop. */
export async function summaryOf(book: LoopBook, state: LoopState, isRunning: boolean) {
  const tasks = [...state.tasks.values()].map(task => ({
    ...{ id: task.task.id, title: task.task.title, status: task.status, iterations: task.iterations },
    ...{ sessionId: task.sessionId, worktree: task.worktreeId, commit: task.commit ?? null },
    ...{ merged: task.merged ?? null, parked: task.parked ?? null },
    why: task.why ?? (lastFailure(task).trim() || null),
    ...{ verdict: verdictOf(task)?.word ?? null, flags: flagsOf(task) },
    ...(task.commands === undefined ? {} : { commands: task.commands }),
    handed: (task.handed ?? []).map(({ from, to, at, why }) => ({ from, to, at, why })),
  }))
  const { loopId, list, startedAt, iterations, end = null, worktreeId } = state
  const listed = await book.tasks(state)
  const toGo = tasksToGo(state, listed).length
  const claimed = claimedIn(state, listed ?? []).map(({ id }) => id)
  return {
    loopId,
    list,
    startedAt,
    isRunning,
    isOver: isOver(state),
    iterations,
    worktree: worktreeId,
    branch: state.branch ?? null,
    spent: spentOf(state),
    end,
    waitsUntil: isRunning ? waitingUntil(state) : null,
    toGo,
    claimed,
    warnings: isRunning ? warningsOf(state) : await book.warnings(state),
    tasks,
  }
}

function waitingUntil({ waitUntil }: LoopState): string | null {
  return waitUntil !== undefined && Date.parse(waitUntil) > Date.now() ? waitUntil : null
}

export async function statusText(book: LoopBook, state: LoopState, isRunning: boolean): Promise<string> {
  const { tasks, toGo, spent, waitsUntil, warnings } = await summaryOf(book, state, isRunning)
  const cost = spent.usd === null ? '' : ` · ${spent.isEstimate ? '≈ ' : ''}${usdText(spent.usd)}`
  const waits = waitsUntil === null ? undefined : formatDuration(Date.parse(waitsUntil) - Date.now())
  const runs =
    waits === undefined ? 'runs' : `waits for a limit of the plan, ${waits} left, until ${waitsUntil}`
  const now = isRunning ? runs : (state.end?.why ?? 'was cut off; resume it')
  const lines = tasks.flatMap(({ title, status: word, verdict, flags, why, handed }) => {
    const by = handed.map(({ to }) => `, handed to ${to}`).join('')
    const shown =
      verdict !== null ? VERDICT_WORDS[verdict] : word === 'working' && !isRunning ? 'begun' : word
    return [
      `  ${shown.padEnd(8)} ${title}${by}${why === null ? '' : `: ${why.split('\n')[0]}`}`,
      ...flags.map(({ words, files }) => `    ! ${[words, ...files].join(' ')}`),
    ]
  })
  const awaited = awaitedCommands(state)
  if (awaited.length > 0)
    lines.push(
      `  Allow exactly a command that is waited for: chirality loop resume ${state.loopId} --allow '…'`,
    )
  const merge = takeOverWords(state)
  if (merge !== '') lines.push(`  ${merge.trimEnd()}`)
  lines.unshift(...warnings.map(warning => `  ! ${warning}`))
  return plain(
    `${state.loopId} · ${now} · ${state.iterations} iterations${cost} · ${toGo} to go\n${lines.map(line => `${line}\n`).join('')}`,
  )
}
