import path from 'node:path'
import { formatDuration, usdText, visibleLine } from '@chirality/core'
import {
  allCommandsOf,
  awaitedCommands,
  isOver,
  type Loop,
  LoopBook,
  type LoopEndReason,
  type LoopSettings,
  type LoopState,
  notAllowedWords,
  requireAwaited,
  type Stamped,
  spentOf,
} from '@chirality/loops'
import { hideEnvironment } from '@chirality/runner'
import type { CallOutputs, ServerFile } from '@chirality/server'
import { findProjectOwner, SessionHost } from '@chirality/sessions'
import { EXIT, type ExitCode, UsageError } from '../exit-code.ts'
import { RunHarnesses } from '../harnesses.ts'
import { chooseAction, oneArgument, projectFolder, readOptions, wholeNumber } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { commandsWords } from '../render/commands-words.ts'
import { plain } from '../render/style.ts'
import { callProcedure, callServer, eventsIn } from '../running-server.ts'
import { spentElsewhere } from '../spent-elsewhere.ts'
import { STOP_SIGNALS } from '../stop-signals.ts'
import { serverOf } from './budget/set-limits.ts'
import { nextHarnesses } from './hand-over.ts'
import { verify } from './loop/verify.ts'

type LoopSummary = CallOutputs['loops']['start']

/** Works through a task list, and shows what became of it. */
export async function loop(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, OPTIONS)
  const { run, rest } = chooseAction('loop', positionals, ACTIONS)
  return run(rest, values, output)
}

const ACTIONS = { run: runList, status, resume, stop, report, verify }

const OPTIONS = {
  project: { type: 'string' },
  parallel: { type: 'string' },
  budget: { type: 'string' },
  tokens: { type: 'string' },
  'max-iterations': { type: 'string' },
  until: { type: 'string' },
  'wait-for-limits': { type: 'string' },
  'hand-over': { type: 'string' },
  task: { type: 'string' },
  note: { type: 'string' },
  allow: { type: 'string', isList: true },
  'allow-dirty': { type: 'boolean' },
  json: { type: 'boolean' },
} as const

type Values = ReturnType<typeof readOptions<typeof OPTIONS>>['values']

async function runList(rest: string[], values: Values, output: Output): Promise<number> {
  const list = path.resolve(oneArgument(rest, 'the task list'))
  const project = await projectFolder(values.project)
  const server = await serverOf(project)
  if (server !== undefined) {
    const limits = limitsOf(values)
    const start = { project, list: path.relative(project, list), limits, allowDirty: values['allow-dirty'] }
    const { loopId } = await callProcedure<LoopSummary>(server, 'loops.start', start)
    return follow(server, { loopId, version: 0 }, values, output)
  }
  const book = new LoopBook(project)
  return withHost(host => {
    const settings = settingsOf(values)
    const until = untilOf(values.until)
    return book.start(host, list, {
      ...{ settings, onEntry: entry => show(entry, values, output) },
      check: async parsed => {
        const words = commandsWords('Runs without asking:', allCommandsOf(parsed))
        if (words !== undefined && !values.json) void output.write(`${words}\n`)
      },
      ...(values['allow-dirty'] ? { allowDirty: true } : {}),
      ...(until === undefined ? {} : { until }),
    })
  }, output)
}

async function resume(rest: string[], values: Values, output: Output): Promise<number> {
  const project = await projectFolder(values.project)
  const book = new LoopBook(project)
  const { task, note = '', allow = [] } = values
  if (task === undefined && note !== '') throw new UsageError('--note is for a task: name it with --task.')
  const state = book.get(rest[0])
  const { loopId, entries } = state
  const server = await serverOf(project)
  if (server !== undefined) {
    const limits = limitsOf(values)
    const again = task === undefined ? {} : { again: { task, note } }
    await callProcedure(server, 'loops.resume', { loopId, limits, allow, ...again })
    return follow(server, { loopId, version: entries }, values, output)
  }
  requireAwaited(state, allow)
  return withHost(host => {
    const until = untilOf(values.until)
    return book.resume(host, loopId, {
      ...{ settings: settingsOf(values), allow, onEntry: entry => show(entry, values, output) },
      ...(task === undefined ? {} : { again: { task, note } }),
      ...(until === undefined ? {} : { until }),
    })
  }, output)
}

async function status([id]: string[], values: Values, output: Output): Promise<number> {
  const projectRoot = await projectFolder(values.project)
  const book = new LoopBook(projectRoot)
  const loops = id === undefined ? book.list() : [book.get(id)]
  const owner = await findProjectOwner(projectRoot)
  for (const state of loops) {
    const isRunning = owner?.pid === state.pid && state.end === undefined
    if (values.json) await output.write(`${JSON.stringify(summaryOf(book, state, isRunning))}\n`)
    else await output.write(statusText(book, state, isRunning))
  }
  if (loops.length === 0) await tell('This project has no loop. Start one: chirality loop run TASKS.md\n')
  return EXIT.done
}

async function stop([id]: string[], values: Values): Promise<number> {
  const projectRoot = await projectFolder(values.project)
  const book = new LoopBook(projectRoot)
  const state = book.get(id)
  const owner = await findProjectOwner(projectRoot)
  const server = await serverOf(projectRoot)
  if (server !== undefined && state.end === undefined) {
    await callProcedure(server, 'loops.stop', { loopId: state.loopId })
    await tell(`The loop ${state.loopId} has stopped. Go on later: chirality loop resume ${state.loopId}\n`)
    return EXIT.done
  }
  if (state.end !== undefined || owner?.pid !== state.pid) {
    await tell(`The loop ${state.loopId} does not run.\n`)
    return EXIT.done
  }
  book.requestStop(state.loopId)
  await tell(`The loop ${state.loopId} stops. Go on later: chirality loop resume ${state.loopId}\n`)
  return EXIT.done
}

async function report([id]: string[], values: Values, output: Output): Promise<number> {
  const book = new LoopBook(await projectFolder(values.project))
  await output.write(plain(book.report(book.get(id))))
  return EXIT.done
}

/** Shows what happens in a loop that a server runs, until it has ended. An interrupt stops the loop. */
async function follow(
  server: ServerFile,
  { loopId, version }: Pick<LoopSummary, 'loopId' | 'version'>,
  values: Values,
  output: Output,
): Promise<ExitCode> {
  const stopThere = () => {
    void callProcedure(server, 'loops.stop', { loopId }).catch((error: unknown) =>
      tell(`chirality: ${error}\n`),
    )
  }
  for (const signal of STOP_SIGNALS) process.on(signal, stopThere)
  let end: LoopEndReason = 'failed'
  try {
    const response = await callServer(server, `/api/harness/loops/${loopId}/events?after=${version}`)
    for await (const entry of eventsIn<Stamped>(response)) {
      if (entry.type === 'loop:end') end = entry.reason
      show(entry, values, output)
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    await tell(
      `chirality: The server ended (${why}). It goes on with the loop ${loopId} when it starts again.\n`,
    )
    return EXIT.failed
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, stopThere)
  }
  return exitCodeOf(end)
}

/** Runs a loop in this process. The first interrupt lets it end what it does in order. */
async function withHost(open: (host: SessionHost) => Promise<Loop>, output: Output): Promise<ExitCode> {
  hideEnvironment()
  let host: SessionHost | undefined
  const harnesses = await RunHarnesses.open(entry => host?.log(entry), true)
  await harnesses.loadAll()
  host = new SessionHost({ harnesses, address: 'chirality loop', spentElsewhere })
  let loop: Loop | undefined
  const onSignal = () => loop?.stop()
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal)
  try {
    await host.worktrees.recover()
    loop = await open(host)
    const unlisten = output.onLost(onSignal)
    const end = await loop.run()
    unlisten()
    return exitCodeOf(end.reason)
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal)
    await host.close()
  }
}

function exitCodeOf(reason: NonNullable<LoopState['end']>['reason']): ExitCode {
  if (reason === 'done') return EXIT.done
  if (reason === 'limit' || reason === 'rate-limit') return EXIT.limit
  return reason === 'stopped' ? EXIT.interrupted : EXIT.failed
}

function settingsOf(values: Values): Partial<LoopSettings> {
  const parallel = wholeNumber('parallel', values.parallel, { min: 1, max: 16 })
  const max_iterations = wholeNumber('max-iterations', values['max-iterations'], { min: 1, max: 1_000_000 })
  const budget_tokens = wholeNumber('tokens', values.tokens, { min: 1, max: Number.MAX_SAFE_INTEGER })
  const wait_for_limits = wholeNumber('wait-for-limits', values['wait-for-limits'], { min: 0, max: 50 })
  const budget_usd = values.budget === undefined ? undefined : Number(values.budget)
  if (budget_usd !== undefined && !(budget_usd > 0 && Number.isFinite(budget_usd)))
    throw new UsageError(`--budget must be dollars above 0, not "${values.budget}".`)
  return Object.fromEntries(
    Object.entries({
      ...{ parallel, max_iterations, budget_tokens, budget_usd, wait_for_limits },
      ...handOverOf(values['hand-over']),
    }).filter(([, value]) => value !== undefined),
  )
}

function handOverOf(given: string | undefined): Partial<LoopSettings> {
  const next_harnesses = nextHarnesses(given)
  if (next_harnesses === undefined) return {}
  return next_harnesses.length === 0 ? { hand_over: false } : { hand_over: true, next_harnesses }
}

/** The same for a server. */
function limitsOf(values: Values) {
  const settings = settingsOf(values)
  return {
    ...{ parallel: settings.parallel, maxIterations: settings.max_iterations },
    ...{ budgetTokens: settings.budget_tokens, budgetUsd: settings.budget_usd },
    ...{ waitForLimits: settings.wait_for_limits, handOver: settings.hand_over },
    ...{ nextHarnesses: settings.next_harnesses, until: untilOf(values.until)?.toISOString() },
  }
}

/** `06:30` is the next time that a clock shows it; otherwise a date and time. */
function untilOf(given: string | undefined): Date | undefined {
  if (given === undefined) return undefined
  const clock = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(given)
  const time = clock === null ? new Date(given) : new Date()
  if (clock !== null) time.setHours(Number(clock[1]), Number(clock[2]), 0, 0)
  if (clock !== null && time.getTime() <= Date.now()) time.setDate(time.getDate() + 1)
  if (Number.isNaN(time.getTime()) || time.getTime() <= Date.now())
    throw new UsageError(`--until must be a time to come, such as 06:30 or 2030-01-31T06:30, not "${given}".`)
  return time
}

function show(entry: Stamped, { json }: Values, output: Output): void {
  if (json) {
    void output.write(`${JSON.stringify(entry)}\n`)
    return
  }
  const line = lineOf(entry)
  if (line !== undefined) void output.write(`${plain(line)}\n`)
}

function lineOf(entry: Stamped): string | undefined {
  switch (entry.type) {
    case 'loop:start':
      return commandsWords('Runs without asking:', entry.allowed)
    case 'commands:allowed':
      return commandsWords('  allowed:', entry.commands)
    case 'commands:refused':
      return commandsWords('  allowed only by the journal in the project, so not run:', entry.commands)
    case 'task:start':
      return `▸ ${entry.task.title} · session ${entry.sessionId}`
    case 'iteration:start':
      return `  iteration ${entry.n}`
    case 'task:handed':
      return `  handed from ${entry.from} to ${entry.to} · session ${entry.sessionId}: ${entry.why}`
    case 'checks:end': {
      const { diff, results, failure } = entry
      const marks = results.map(
        ({ command, exitCode }) => `${exitCode === 0 ? '✓' : '✗'} ${visibleLine(command)}`,
      )
      const reason = failure === undefined ? '' : ` · ${failure.split('\n')[0]}`
      return [
        `  +${diff.insertions} −${diff.deletions} in ${diff.files} files${reason}`,
        ...marks.map(mark => `    ${mark}`),
      ].join('\n')
    }
    case 'task:merged':
      return `✓ ${entry.task} · ${entry.commit.slice(0, 10)}`
    case 'task:parked':
      return `? ${entry.task} needs you (${entry.kind}): ${entry.why.split('\n')[0]}`
    case 'tasks:parked':
      return parkedLines(entry.tasks)
    case 'task:failed':
      return `✗ ${entry.task} failed: ${entry.why.split('\n')[0]}`
    case 'list:changed':
      return `  the list changed: ${[...entry.added, ...entry.changed, ...entry.removed].join(', ')}`
    case 'branch:kept':
      return `  changes on the loop's branch that were not committed are kept: git cherry-pick --no-commit ${entry.ref}`
    case 'loop:wait':
      return `  waits until ${entry.until}: ${entry.why}`
    case 'loop:end':
      return entry.why
    default:
      return undefined
  }
}

function parkedLines(parked: Extract<Stamped, { type: 'tasks:parked' }>['tasks']): string {
  const lines = parked
    .slice(0, MAX_PARKED)
    .map(({ task, commands }) => `? ${task.id} needs you (commands): ${notAllowedWords(commands)}`)
  const more = parked.length - lines.length
  return [
    ...lines,
    ...(more > 0 ? [`? ${more === 1 ? '1 more task needs' : `${more} more tasks need`} you (commands)`] : []),
  ].join('\n')
}

const MAX_PARKED = 20

function summaryOf(book: LoopBook, state: LoopState, isRunning: boolean) {
  const tasks = [...state.tasks.values()].map(task => ({
    ...{ id: task.task.id, title: task.task.title, status: task.status, iterations: task.iterations },
    ...{ sessionId: task.sessionId, worktree: task.worktreeId, commit: task.commit ?? null },
    ...{ merged: task.merged ?? null, parked: task.parked ?? null, why: task.why ?? null },
    ...(task.commands === undefined ? {} : { commands: task.commands }),
    handed: (task.handed ?? []).map(({ from, to, at, why }) => ({ from, to, at, why })),
  }))
  const { loopId, list, startedAt, iterations, end = null, worktreeId } = state
  const toGo = (book.tasks(state) ?? []).filter(({ id, ticked }) => !ticked && !state.tasks.has(id)).length
  return {
    loopId,
    list,
    startedAt,
    isRunning,
    isOver: isOver(state),
    iterations,
    worktree: worktreeId,
    spent: spentOf(state),
    end,
    waitsUntil: isRunning ? waitingUntil(state) : null,
    toGo,
    tasks,
  }
}

function waitingUntil({ waitUntil }: LoopState): string | null {
  return waitUntil !== undefined && Date.parse(waitUntil) > Date.now() ? waitUntil : null
}

function statusText(book: LoopBook, state: LoopState, isRunning: boolean): string {
  const { tasks, toGo, spent, waitsUntil } = summaryOf(book, state, isRunning)
  const cost = spent.usd === null ? '' : ` · ${spent.isEstimate ? '≈ ' : ''}${usdText(spent.usd)}`
  const waits = waitsUntil === null ? undefined : formatDuration(Date.parse(waitsUntil) - Date.now())
  const runs =
    waits === undefined ? 'runs' : `waits for a limit of the plan, ${waits} left, until ${waitsUntil}`
  const now = isRunning ? runs : (state.end?.why ?? 'was cut off; resume it')
  const lines = tasks.map(({ title, status: word, why, handed }) => {
    const by = handed.map(({ to }) => `, handed to ${to}`).join('')
    return `  ${word.padEnd(8)} ${title}${by}${why === null ? '' : `: ${why.split('\n')[0]}`}`
  })
  const awaited = awaitedCommands(state)
  if (awaited.length > 0)
    lines.push(
      `  Allow exactly a command that is waited for: chirality loop resume ${state.loopId} --allow '…'`,
    )
  return plain(
    `${state.loopId} · ${now} · ${state.iterations} iterations${cost} · ${toGo} to go\n${lines.map(line => `${line}\n`).join('')}`,
  )
}
