import path from 'node:path'
import { formatDuration, usdText } from '@chirality/core'
import {
  allCommandsOf,
  type NewSchedule,
  nextTime,
  type Schedule,
  ScheduleBook,
  type ScheduleRun,
  type ScheduleState,
  type ScheduleTimes,
} from '@chirality/loops'
import { userDataFolder } from '@chirality/sessions'
import { EXIT, UsageError } from '../exit-code.ts'
import {
  chooseAction,
  noArgument,
  oneArgument,
  oneOf,
  projectFolder,
  readOptions,
  wholeNumber,
} from '../options.ts'
import { type Output, tell } from '../output.ts'
import { commandsWords } from '../render/commands-words.ts'
import { plain } from '../render/style.ts'
import { anyServerFor, type LocalServer, runningServers } from '../running-server.ts'
import { nextHarnesses } from './hand-over.ts'
import { readList } from './loop/preview.ts'
import { splitTools } from './run/request.ts'

/** Prompts and loops that a server runs at times. */
export async function schedule(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, OPTIONS)
  const { run, rest } = chooseAction('schedule', positionals, ACTIONS)
  return run(rest, values, output)
}

const ACTIONS = {
  ...{ add, edit, list, show, pause: change('pause'), resume: change('resume'), run: runNow, remove },
}

const OPTIONS = {
  project: { type: 'string' },
  name: { type: 'string' },
  loop: { type: 'string' },
  cron: { type: 'string' },
  zone: { type: 'string' },
  every: { type: 'string' },
  at: { type: 'string' },
  missed: { type: 'string' },
  overlap: { type: 'boolean' },
  harness: { type: 'string' },
  persona: { type: 'string' },
  model: { type: 'string' },
  'permission-mode': { type: 'string' },
  worktree: { type: 'boolean' },
  allow: { type: 'string', mayBeEmpty: true },
  budget: { type: 'string' },
  'max-minutes': { type: 'string' },
  'answer-minutes': { type: 'string' },
  'keep-runs': { type: 'string' },
  'max-iterations': { type: 'string' },
  parallel: { type: 'string' },
  'wait-for-limits': { type: 'string' },
  'hand-over': { type: 'string' },
  'allow-commands': { type: 'boolean' },
  json: { type: 'boolean' },
} as const

type Values = ReturnType<typeof readOptions<typeof OPTIONS>>['values']

async function add(rest: string[], values: Values, output: Output): Promise<number> {
  const project = await projectFolder(values.project)
  const input: NewSchedule = {
    ...{ project, what: newWork(rest, values, project), when: timesOf(values) },
    name:
      values.name ?? (values.loop === undefined ? (rest[0] ?? '').slice(0, 60) : path.basename(values.loop)),
    ...given(rulesOf(values)),
  }
  const added = await (await serverFor(project)).calls.schedules.add.mutate(input)
  const state = book().get(added.id)
  await write(state, values, output)
  await tellCommands(state.schedule)
  return EXIT.done
}

/** Changes what is given, and leaves the rest as it is. */
async function edit(rest: string[], values: Values, output: Output): Promise<number> {
  const [word, ...words] = rest
  const { schedule: before } = book().get(oneArgument(word === undefined ? [] : [word], 'the schedule'))
  if (values.project !== undefined)
    throw new UsageError('The project of a schedule cannot be changed. Add another schedule there.')
  const { id, project: _project, what, when, budgetUsd, maxMinutes, ...rules } = before
  const { budget, 'max-minutes': minutes, ...others } = values
  // "none" takes a limit away.
  const limits = {
    budgetUsd: budget === 'none' ? undefined : (numberOf('budget', budget) ?? budgetUsd),
    maxMinutes: minutes === 'none' ? undefined : (numberOf('max-minutes', minutes) ?? maxMinutes),
  }
  const input = {
    ...{ ...rules, ...given(limits), ...given(rulesOf(others)), id },
    what: await changedWork(what, words, values, before),
    when: changedTimes(when, values),
    ...(values.name === undefined ? {} : { name: values.name }),
  }
  await (await serverFor(before.project)).calls.schedules.change.mutate(input)
  const state = book().get(id)
  await write(state, values, output)
  await tellCommands(state.schedule)
  return EXIT.done
}

/** A time zone alone is that of the fields that it has. */
function changedTimes(when: ScheduleTimes, values: Values): ScheduleTimes {
  const { cron, zone, every, at } = values
  if ([cron, zone, every, at].every(one => one === undefined)) return when
  const isZoneOnly = zone !== undefined && cron === undefined && when.kind === 'cron'
  return timesOf(isZoneOnly ? { ...values, cron: when.cron } : values)
}

function rulesOf(values: Values) {
  return {
    missed: oneOf('missed', values.missed, ['skip', 'once']),
    overlap: values.overlap ? ('allow' as const) : undefined,
    budgetUsd: numberOf('budget', values.budget),
    maxMinutes: numberOf('max-minutes', values['max-minutes']),
    answerMinutes: numberOf('answer-minutes', values['answer-minutes']),
    keepRuns: wholeNumber('keep-runs', values['keep-runs'], { min: 1, max: 50 }),
  }
}

type Work = NewSchedule['what']

function newWork(rest: string[], values: Values, project: string): Work {
  const { loop } = values
  if (loop === undefined) {
    const prompt = oneArgument(rest, 'the prompt, or --loop LIST,')
    return { kind: 'prompt', prompt, ...promptFields(values) }
  }
  noArgument(rest)
  return { kind: 'loop', list: path.relative(project, path.resolve(loop)), ...loopFields(values) }
}

async function changedWork(
  what: Work,
  words: string[],
  values: Values,
  { project }: Schedule,
): Promise<Work> {
  if (what.kind === 'prompt') {
    if (values.loop !== undefined)
      throw new UsageError('This schedule runs a prompt, and that cannot be changed. Add another one.')
    const prompt = words.length === 0 ? what.prompt : oneArgument(words, 'the prompt')
    return { ...what, ...promptFields(values), prompt }
  }
  noArgument(words)
  const list = values.loop === undefined ? what.list : path.relative(project, path.resolve(values.loop))
  const { commands, ...kept } = what
  // Of another list those that it names are allowed: its user has just named it.
  const same = list === what.list && commands !== undefined ? { commands } : {}
  const now = values['allow-commands'] ? { commands: await commandsIn(path.join(project, list)) } : same
  return { ...kept, ...loopFields(values), list, ...now }
}

async function commandsIn(list: string): Promise<string[]> {
  return allCommandsOf(await readList(list))
}

async function tellCommands({ what }: Schedule): Promise<void> {
  const words = allowedWords(what)
  if (words !== undefined) await tell(`chirality: ${words}\n`)
}

function allowedWords(what: Work): string | undefined {
  if (what.kind !== 'loop') return undefined
  return commandsWords('Its runs may use these commands and no others:', what.commands)
}

function promptFields(values: Values) {
  const { harness, persona, model, worktree } = values
  for (const name of [
    'parallel',
    'max-iterations',
    'wait-for-limits',
    'hand-over',
    'allow-commands',
  ] as const)
    if (values[name] !== undefined)
      throw new UsageError(`--${name} is for a task list, and this is a prompt.`)
  const permissionMode = oneOf('permission-mode', values['permission-mode'], MODES)
  const allow = values.allow === undefined ? undefined : splitTools(values.allow)
  return given({ harness, persona, model, permissionMode, worktree, allow })
}

function loopFields(values: Values) {
  for (const name of ['harness', 'persona', 'model', 'permission-mode', 'worktree'] as const)
    if (values[name] !== undefined)
      throw new UsageError(`--${name} is for a prompt. A task list names it for its tasks.`)
  if (values.allow !== undefined)
    throw new UsageError('--allow is for a prompt. The commands of a task list: --allow-commands.')
  return given({
    parallel: wholeNumber('parallel', values.parallel, { min: 1, max: 16 }),
    maxIterations: wholeNumber('max-iterations', values['max-iterations'], { min: 1, max: 1_000_000 }),
    waitForLimits: wholeNumber('wait-for-limits', values['wait-for-limits'], { min: 0, max: 50 }),
    nextHarnesses: nextHarnesses(values['hand-over']),
  })
}

const MODES = ['default', 'acceptEdits', 'dontAsk', 'plan'] as const

function timesOf({ cron, zone, every, at }: Values): ScheduleTimes {
  const all = [cron, every, at].filter(one => one !== undefined)
  if (all.length !== 1)
    throw new UsageError('Say when, with one of --cron "0 3 * * *", --every 6h and --at 2030-01-31T06:30.')
  if (zone !== undefined && cron === undefined) throw new UsageError('--zone is for --cron.')
  if (cron !== undefined)
    return { kind: 'cron', cron, timeZone: zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone }
  if (every !== undefined) return { kind: 'every', minutes: minutesOf(every) }
  const time = new Date(at ?? '')
  if (Number.isNaN(time.getTime()))
    throw new UsageError(`--at must be a date and time, such as 2030-01-31T06:30, not "${at}".`)
  return { kind: 'at', time: time.toISOString() }
}

function minutesOf(every: string): number {
  const [, amount = '', unit = ''] = /^(\d{1,6})(m|h|d)$/.exec(every) ?? []
  const minutes = Number(amount) * ({ m: 1, h: 60, d: 1440 }[unit] ?? 0)
  if (minutes > 0) return minutes
  throw new UsageError(`--every must be minutes, hours or days, such as 30m, 6h or 1d, not "${every}".`)
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (value >= 0 && Number.isFinite(value)) return value
  throw new UsageError(`--${name} must be a number, not "${text}".`)
}

function given<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> }
}

/** The schedules are in the user's data folder: a server notices what is changed there. */
const book = () => new ScheduleBook(userDataFolder())

async function list(rest: string[], values: Values, output: Output): Promise<number> {
  noArgument(rest)
  const all = book().list()
  for (const state of all) await write(state, values, output)
  if (all.length === 0)
    await tell(
      'There is no schedule. Add one: chirality schedule add "Look at the logs" --cron "0 3 * * *"\n',
    )
  else if ((await runningServers(userDataFolder())).length === 0)
    await tell('chirality: No server runs, and only a server runs schedules: chirality serve\n')
  return EXIT.done
}

async function show(rest: string[], values: Values, output: Output): Promise<number> {
  const state = book().get(oneArgument(rest, 'the schedule'))
  await write(state, values, output)
  const words = allowedWords(state.schedule.what)
  if (!values.json && words !== undefined) await output.write(`  ${words}\n`)
  if (!values.json)
    for (const run of state.runs) await output.write(plain(`  ${runLine(state.schedule, run)}\n`))
  return EXIT.done
}

function change(action: 'pause' | 'resume') {
  return async (rest: string[], values: Values, output: Output): Promise<number> => {
    const all = book()
    const { schedule: found } = all.get(oneArgument(rest, 'the schedule'))
    await write(all[action](found.id), values, output)
    return EXIT.done
  }
}

async function remove(rest: string[]): Promise<number> {
  const all = book()
  const { schedule: found } = all.get(oneArgument(rest, 'the schedule'))
  all.remove(found.id)
  await tell(`"${plain(found.name)}" is removed. A run of it that has begun goes on.\n`)
  return EXIT.done
}

async function runNow(rest: string[], values: Values, output: Output): Promise<number> {
  const { schedule: found } = book().get(oneArgument(rest, 'the schedule'))
  await (await serverFor(found.project)).calls.schedules.run.mutate({ id: found.id })
  await write(book().get(found.id), values, output)
  return EXIT.done
}

async function serverFor(project: string): Promise<LocalServer> {
  const server = await anyServerFor(project)
  if (server !== undefined) return server
  throw new UsageError('Only a server runs schedules, and none runs. Start it first: chirality serve')
}

async function write(state: ScheduleState, { json }: Values, output: Output): Promise<void> {
  const { schedule: own, isPaused, runs, skipped, addedAt } = state
  const next = nextTime(state)
  const time = next === null ? null : new Date(next).toISOString()
  if (json) {
    await output.write(`${JSON.stringify({ ...own, addedAt, isPaused, next: time, skipped, runs })}\n`)
    return
  }
  const [last] = runs
  const words = [
    ...[
      own.id,
      own.name,
      isPaused ? 'paused' : time === null ? 'no time is left' : `next ${timeIn(own, time)}`,
    ],
    ...(last === undefined ? [] : [`last: ${runLine(own, last)}`]),
    ...(skipped === null
      ? []
      : [`${skipped.times} not run (${skipped.why}), up to ${timeIn(own, skipped.due)}`]),
  ]
  await output.write(plain(`${words.join(' · ')}\n`))
}

function runLine(own: Schedule, { due, receipt, claimedAt, sessionId, loopId }: ScheduleRun): string {
  const where = sessionId === undefined ? `loop ${loopId}` : `session ${sessionId}`
  if (receipt === null) return `${timeIn(own, due)} runs, ${where}`
  const { outcome, words, costUsd, costIsEstimate, endedAt } = receipt
  const cost = costUsd === null ? '' : `, ${costIsEstimate ? '≈ ' : ''}${usdText(costUsd)}`
  const took = formatDuration(Date.parse(endedAt) - Date.parse(claimedAt))
  return `${timeIn(own, due)} ${outcome}, ${took}${cost}, ${where}: ${words.split('\n')[0] ?? ''}`
}

/** In the zone of the schedule, or else of this machine, by name. */
function timeIn({ when }: Schedule, time: string): string {
  const timeZone = when.kind === 'cron' ? when.timeZone : Intl.DateTimeFormat().resolvedOptions().timeZone
  const shown = new Date(time).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone })
  return `${shown} ${timeZone}`
}
