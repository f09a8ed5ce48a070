import path from 'node:path'
import { formatDuration, usdText } from '@chirality/core'
import {
  type NewSchedule,
  nextTime,
  ScheduleBook,
  type ScheduleRun,
  type ScheduleState,
  type ScheduleTimes,
} from '@chirality/loops'
import type { ServerFile } from '@chirality/server'
import { userDataFolder } from '@chirality/sessions'
import { EXIT, UsageError } from '../exit-code.ts'
import { chooseAction, noArgument, oneArgument, oneOf, projectFolder, readOptions } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { plain } from '../render/style.ts'
import { anyServerFor, callProcedure, runningServers } from '../running-server.ts'

/** Prompts and loops that a server runs at times. */
export async function schedule(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, OPTIONS)
  const { run, rest } = chooseAction('schedule', positionals, ACTIONS)
  return run(rest, values, output)
}

const ACTIONS = {
  ...{ add, list, show, pause: change('pause'), resume: change('resume'), run: runNow, remove },
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
  budget: { type: 'string' },
  'max-minutes': { type: 'string' },
  'answer-minutes': { type: 'string' },
  json: { type: 'boolean' },
} as const

type Values = ReturnType<typeof readOptions<typeof OPTIONS>>['values']

async function add(rest: string[], values: Values, output: Output): Promise<number> {
  const project = await projectFolder(values.project)
  const input: NewSchedule = {
    ...{ project, what: workOf(rest, values, project), when: timesOf(values) },
    name:
      values.name ?? (values.loop === undefined ? (rest[0] ?? '').slice(0, 60) : path.basename(values.loop)),
    ...given({
      missed: oneOf('missed', values.missed, ['skip', 'once']),
      overlap: values.overlap ? ('allow' as const) : undefined,
      budgetUsd: numberOf('budget', values.budget),
      maxMinutes: numberOf('max-minutes', values['max-minutes']),
      answerMinutes: numberOf('answer-minutes', values['answer-minutes']),
    }),
  }
  const added = await callProcedure<{ id: string }>(await serverFor(project), 'schedules.add', input)
  await write(book().get(added.id), values, output)
  return EXIT.done
}

function workOf(rest: string[], values: Values, project: string): NewSchedule['what'] {
  const { loop, harness, persona, model, worktree } = values
  if (loop !== undefined) {
    noArgument(rest)
    return { kind: 'loop', list: path.relative(project, path.resolve(loop)) }
  }
  const prompt = oneArgument(rest, 'the prompt, or --loop LIST,')
  const permissionMode = oneOf('permission-mode', values['permission-mode'], MODES)
  return { kind: 'prompt', prompt, ...given({ harness, persona, model, permissionMode, worktree }) }
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
  if (!values.json) for (const run of state.runs) await output.write(plain(`  ${runLine(run)}\n`))
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
  await callProcedure(await serverFor(found.project), 'schedules.run', { id: found.id })
  await write(book().get(found.id), values, output)
  return EXIT.done
}

async function serverFor(project: string): Promise<ServerFile> {
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
      isPaused ? 'paused' : time === null ? 'no time is left' : `next ${localTime(time)}`,
    ],
    ...(last === undefined ? [] : [`last: ${runLine(last)}`]),
    ...(skipped === null
      ? []
      : [`${skipped.times} not run (${skipped.why}), up to ${localTime(skipped.due)}`]),
  ]
  await output.write(plain(`${words.join(' · ')}\n`))
}

function runLine({ due, receipt, claimedAt, sessionId, loopId }: ScheduleRun): string {
  const where = sessionId === undefined ? `loop ${loopId}` : `session ${sessionId}`
  if (receipt === null) return `${localTime(due)} runs, ${where}`
  const { outcome, words, costUsd, costIsEstimate, endedAt } = receipt
  const cost = costUsd === null ? '' : `, ${costIsEstimate ? '≈ ' : ''}${usdText(costUsd)}`
  const took = formatDuration(Date.parse(endedAt) - Date.parse(claimedAt))
  return `${localTime(due)} ${outcome}, ${took}${cost}, ${where}: ${words.split('\n')[0] ?? ''}`
}

function localTime(time: string): string {
  return new Date(time).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'short' })
}
