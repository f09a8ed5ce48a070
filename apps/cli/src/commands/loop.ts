import path from 'node:path'
import type { CallOutputs } from '@chirality/client'
import { visibleLine } from '@chirality/core'
import {
  type Loop,
  LoopBook,
  type LoopEndReason,
  type LoopSettings,
  type LoopState,
  notAllowedWords,
  requireAwaited,
  type Stamped,
} from '@chirality/loops'
import { findProjectOwner, type SessionHost, userDataFolder } from '@chirality/sessions'
import { EXIT, type ExitCode, UsageError } from '../exit-code.ts'
import { openHost } from '../open-host.ts'
import { chooseAction, oneArgument, projectFolder, readOptions, wholeNumber } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { commandsWords } from '../render/commands-words.ts'
import { plain } from '../render/style.ts'
import { type LocalServer, serverOf } from '../running-server.ts'
import { STOP_SIGNALS } from '../stop-signals.ts'
import { nextHarnesses } from './hand-over.ts'
import { budgetFor, readList, showList } from './loop/preview.ts'
import { statusText, summaryOf } from './loop/status-text.ts'
import { accept, revert, takeOverWords } from './loop/take-over.ts'
import { verify } from './loop/verify.ts'

type LoopSummary = CallOutputs['loops']['start']

/** Works through a task list, and shows what became of it. */
export async function loop(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, OPTIONS)
  const { run, rest } = chooseAction('loop', positionals, ACTIONS)
  return run(rest, values, output)
}

const ACTIONS = { run: runList, status, resume, stop, report, verify, accept, revert }

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
  'dry-run': { type: 'boolean' },
  'as-found': { type: 'boolean' },
  json: { type: 'boolean' },
} as const

type Values = ReturnType<typeof readOptions<typeof OPTIONS>>['values']

async function runList(rest: string[], values: Values, output: Output): Promise<number> {
  const list = path.resolve(oneArgument(rest, 'the task list'))
  const project = await projectFolder(values.project)
  const server = await serverOf(project)
  const parsed = await readList(list)
  if (!values.json) await showList(parsed, output)
  if (values['dry-run']) {
    if (values.json) await output.write(`${JSON.stringify(parsed)}\n`)
    return EXIT.done
  }
  const { settings, words } = await budgetFor(parsed, settingsOf(values))
  if (words !== undefined && !values.json) await output.write(`${words}\n`)
  if (server !== undefined) {
    const limits = limitsOf(settings, values)
    const start = { project, list: path.relative(project, list), limits, allowDirty: values['allow-dirty'] }
    const { loopId } = await server.calls.loops.start.mutate(start)
    return follow(server, { loopId, version: 0 }, values, output)
  }
  const book = new LoopBook(project, userDataFolder())
  const until = untilOf(values.until)
  const open = (host: SessionHost) =>
    book.start(host, list, {
      ...{ settings, onEntry: entry => show(entry, values, output) },
      ...(values['allow-dirty'] ? { allowDirty: true } : {}),
      ...(until === undefined ? {} : { until }),
    })
  return withHost(open, values, output)
}

async function resume(rest: string[], values: Values, output: Output): Promise<number> {
  const project = await projectFolder(values.project)
  const book = new LoopBook(project, userDataFolder())
  const { task, note = '', allow = [] } = values
  if (task === undefined && note !== '') throw new UsageError('--note is for a task: name it with --task.')
  const state = await book.get(rest[0])
  const { loopId, entries } = state
  const server = await serverOf(project)
  if (server !== undefined) {
    const limits = limitsOf(settingsOf(values), values)
    const again = task === undefined ? {} : { again: { task, note } }
    await server.calls.loops.resume.mutate({
      loopId,
      limits,
      allow,
      asFound: values['as-found'],
      ...again,
    })
    return follow(server, { loopId, version: entries }, values, output)
  }
  requireAwaited(state, allow)
  return withHost(
    host => {
      const until = untilOf(values.until)
      return book.resume(host, loopId, {
        ...{ settings: settingsOf(values), allow, onEntry: entry => show(entry, values, output) },
        ...(task === undefined ? {} : { again: { task, note } }),
        ...(values['as-found'] ? { asFound: true } : {}),
        ...(until === undefined ? {} : { until }),
      })
    },
    values,
    output,
  )
}

async function status([id]: string[], values: Values, output: Output): Promise<number> {
  const projectRoot = await projectFolder(values.project)
  const book = new LoopBook(
    projectRoot,
    userDataFolder(),
    ({ message }) => void tell(`chirality: ${message}\n`),
  )
  const loops = id === undefined ? await book.list() : [await book.get(id)]
  const owner = await findProjectOwner(projectRoot)
  for (const state of loops) {
    const isRunning = owner?.pid === state.pid && state.end === undefined
    if (values.json) await output.write(`${JSON.stringify(await summaryOf(book, state, isRunning))}\n`)
    else await output.write(await statusText(book, state, isRunning))
  }
  if (loops.length === 0) await tell('This project has no loop. Start one: chirality loop run TASKS.md\n')
  if (id === undefined && (await isInFleet()))
    await tell('Loops that another machine of the fleet began are shown there: chirality loop status\n')
  return EXIT.done
}

async function isInFleet(): Promise<boolean> {
  const { readMember } = await import('@chirality/fleet')
  return (await readMember(userDataFolder()).catch(() => undefined)) !== undefined
}

async function stop([id]: string[], values: Values): Promise<number> {
  const projectRoot = await projectFolder(values.project)
  const book = new LoopBook(projectRoot, userDataFolder())
  const state = await book.get(id)
  const owner = await findProjectOwner(projectRoot)
  const server = await serverOf(projectRoot)
  if (server !== undefined && state.end === undefined) {
    await server.calls.loops.stop.mutate({ loopId: state.loopId })
    await tell(`The loop ${state.loopId} has stopped. Go on later: chirality loop resume ${state.loopId}\n`)
    return EXIT.done
  }
  if (state.end !== undefined || owner?.pid !== state.pid) {
    await tell(`The loop ${state.loopId} does not run.\n`)
    return EXIT.done
  }
  await book.requestStop(state.loopId)
  await tell(`The loop ${state.loopId} stops. Go on later: chirality loop resume ${state.loopId}\n`)
  return EXIT.done
}

async function report([id]: string[], values: Values, output: Output): Promise<number> {
  const book = new LoopBook(await projectFolder(values.project), userDataFolder())
  await output.write(plain(await book.report(await book.get(id))))
  return EXIT.done
}

/** Shows what happens in a loop that a server runs, until it has ended. An interrupt stops the loop. */
async function follow(
  server: LocalServer,
  { loopId, version }: Pick<LoopSummary, 'loopId' | 'version'>,
  values: Values,
  output: Output,
): Promise<ExitCode> {
  const stopThere = () => {
    void server.calls.loops.stop.mutate({ loopId }).catch((error: unknown) => tell(`chirality: ${error}\n`))
  }
  for (const signal of STOP_SIGNALS) process.on(signal, stopThere)
  let end: LoopEndReason = 'failed'
  try {
    const events = await server.stream<Stamped>(`/api/harness/loops/${loopId}/events?after=${version}`)
    for await (const entry of events) {
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
  if (!values.json)
    await output.write(
      takeOverWords(await new LoopBook(await projectFolder(values.project), userDataFolder()).get(loopId)),
    )
  return exitCodeOf(end)
}

/** Runs a loop in this process. The first interrupt lets it end what it does in order. */
async function withHost(
  open: (host: SessionHost) => Promise<Loop>,
  values: Values,
  output: Output,
): Promise<ExitCode> {
  const host = await openHost('chirality loop')
  let loop: Loop | undefined
  const onSignal = () => loop?.stop()
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal)
  try {
    await host.worktrees.recover()
    loop = await open(host)
    const unlisten = output.onLost(onSignal)
    const end = await loop.run()
    unlisten()
    if (!values.json) await output.write(takeOverWords(loop.state))
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
  const isUnlimited = values.budget === 'none'
  if (budget_usd !== undefined && !isUnlimited && !(budget_usd > 0 && Number.isFinite(budget_usd)))
    throw new UsageError(`--budget must be dollars above 0, or none, not "${values.budget}".`)
  const given = Object.entries({
    ...{ parallel, max_iterations, budget_tokens, budget_usd, wait_for_limits },
    ...handOverOf(values['hand-over']),
  }).filter(([, value]) => value !== undefined)
  // Undefined, and not left out: it takes the place of the budget that there is.
  return { ...Object.fromEntries(given), ...(isUnlimited ? { budget_usd: undefined } : {}) }
}

function handOverOf(given: string | undefined): Partial<LoopSettings> {
  const next_harnesses = nextHarnesses(given)
  if (next_harnesses === undefined) return {}
  return next_harnesses.length === 0 ? { hand_over: false } : { hand_over: true, next_harnesses }
}

/** The same for a server. */
function limitsOf(settings: Partial<LoopSettings>, values: Values) {
  const budgetUsd = Object.hasOwn(settings, 'budget_usd') ? (settings.budget_usd ?? null) : undefined
  return {
    ...{ parallel: settings.parallel, maxIterations: settings.max_iterations },
    ...{ budgetTokens: settings.budget_tokens, budgetUsd },
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
    case 'commands:allowed':
      return commandsWords('  allowed:', entry.commands)
    case 'commands:refused':
      return commandsWords('  allowed by the journal and not by own.json, so not run:', entry.commands)
    case 'journal:altered':
      return `! somebody changed the files of this loop in your data folder: ${entry.found.join('; ')}`
    case 'branch:altered':
      return `! somebody moved the loop's branch: it does not have ${entry.commit.slice(0, 10)} any more`
    case 'copy:altered':
      return `! somebody changed the copy of this loop in the project: ${entry.files.join(', ')}`
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
    case 'base:checked':
      return entry.results
        .map(
          ({ command, state }) =>
            `  before any task: ${state === 'green' ? '✓' : '✗'} ${visibleLine(command)} (${state})`,
        )
        .join('\n')
    case 'task:proved':
      return (
        (entry.proof?.flags ?? [])
          .map(({ words, files }) => `  ! ${[words, ...files].join(' ')}`)
          .join('\n') || undefined
      )
    case 'task:merged':
      return `✓ ${entry.task} · ${entry.commit.slice(0, 10)}`
    case 'task:parked':
      return `? ${entry.task} needs you (${entry.kind}): ${entry.why.split('\n')[0]}`
    case 'tasks:parked':
      return parkedLines(entry.tasks)
    case 'task:failed':
      return `✗ ${entry.task} failed: ${entry.why.split('\n')[0]}`
    case 'list:changed':
      return listLines(entry)
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

function listLines({ added, changed, removed, ticked = [], unticked = [] }: ListChange): string {
  const edited = [...added, ...changed, ...removed]
  return [
    ...(edited.length === 0 ? [] : [`  the list changed: ${edited.join(', ')}`]),
    ...(ticked.length === 0 ? [] : [`! ticked by somebody, not proved: ${ticked.join(', ')}`]),
    ...(unticked.length === 0 ? [] : [`! a tick of the loop was taken away: ${unticked.join(', ')}`]),
  ].join('\n')
}

type ListChange = Extract<Stamped, { type: 'list:changed' }>

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
