import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'
import { conditionOf, costText } from '@chirality/core'
import {
  type ExportFormat,
  exportSession,
  type SearchHit,
  type SearchOptions,
  type SearchResult,
  SessionHost,
  SessionStore,
  type StoredSession,
  searchSessions,
} from '@chirality/sessions'
import { confirmed } from '../confirm.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { hubServer, knownFleet } from '../fleet-sessions.ts'
import { createHarnesses } from '../harnesses.ts'
import { chooseAction, oneArgument, oneOf, projectFolder, readOptions, wholeNumber } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { minute, plain, type Style, style, wantsColour } from '../render/style.ts'
import { type FoundSession, findAnywhere, withMachine } from './sessions/find-anywhere.ts'
import { continueCommand } from './sessions/find-session.ts'
import { importCommand } from './sessions/import.ts'
import { listCommand } from './sessions/list.ts'
import { type LoopTask, tasksOf, taskWord } from './sessions/loop-tasks.ts'
import { pruneCommand } from './sessions/prune.ts'
import { archiveCommand, pinCommand, renameCommand } from './sessions/shelve.ts'
import { lastTurns } from './sessions/transcript.ts'

/** The sessions of projects: list, show, search, export, fork, import, rename, pin, archive, prune and delete. */
export function sessions(args: string[], output: Output): Promise<number> {
  const { run, rest } = chooseAction('sessions', args, ACTIONS)
  return run(rest, output)
}

const ACTIONS = {
  list: listCommand,
  show: showCommand,
  search: searchCommand,
  fork: forkCommand,
  export: exportCommand,
  import: importCommand,
  rename: renameCommand,
  pin: pinCommand,
  archive: archiveCommand,
  prune: pruneCommand,
  delete: deleteCommand,
}

/** A session's facts, its last turns, and the command that continues it. */
async function showCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, { json: { type: 'boolean' } })
  const found = await findAnywhere(oneArgument(positionals, 'the id of a session'))
  const { session, machine } = found
  if (values.json) {
    await output.write(`${JSON.stringify(withMachine(session, machine))}\n`)
    return EXIT.done
  }
  const colour = wantsColour(output.isTerminal)
  const task = machine === undefined ? (await tasksOf([session])).get(session.id) : undefined
  await output.write(facts(found, task, style(colour)))
  await output.write(await lastTurns(found, colour))
  await output.write(`\nContinue with: ${continueCommand(session, machine)}\n`)
  return EXIT.done
}

function facts({ session, machine }: FoundSession, task: LoopTask | undefined, paint: Style): string {
  const { id, title, projectRoot, harness, model, persona, mode, forkedFrom } = session
  const agent = [harness, model].filter(Boolean).join(' · ')
  const rows: [string, string][] = [
    ['session', id],
    ['project', projectRoot],
    ...(machine === undefined ? [] : [['machine', machine] as [string, string]]),
    ['agent', agent === '' ? 'not chosen yet' : agent],
    ['persona', persona === null ? mode : `${persona} · ${mode}`],
    ['created', minute(session.createdAt)],
    ['updated', minute(session.updatedAt)],
    ['turns', `${session.turnCount}${session.lastTurn === null ? '' : `, the last ${session.lastTurn}`}`],
    ['cost', costText({ usd: session.costUsd, isEstimate: session.costIsEstimate }) ?? 'not known'],
    ['now', now(session, task)],
    ...(task ? [['loop', `${task.loopId}, task ${task.state.task.id}`] as [string, string]] : []),
    ...(forkedFrom ? [['fork of', `${forkedFrom.sessionId} at ${forkedFrom.seq}`] as [string, string]] : []),
  ]
  const lines = rows.map(([name, value]) => `${paint.dim(name.padEnd(NAME_WIDTH))} ${plain(value)}\n`)
  return `${paint.bold(plain(title ?? 'Untitled'))}\n${lines.join('')}`
}

function now(session: StoredSession, task: LoopTask | undefined): string {
  const word = taskWord(session, task)
  const why = task?.state.why?.split('\n', 1)[0]
  if (word !== undefined) return why ? `${word}: ${why}` : word
  const condition = conditionOf({ ...session, phase: session.status })
  const { error } = session.progress
  return error === null ? condition : `${condition}: ${error.message}`
}

const NAME_WIDTH = 'fork of'.length

/** Searches messages and tool calls, newest first. */
async function searchCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    all: { type: 'boolean' },
    limit: { type: 'string' },
    json: { type: 'boolean' },
  })
  if (positionals.length === 0) throw new UsageError('Say what to search for.')
  if (values.all && values.project !== undefined)
    throw new UsageError('--all and --project exclude each other. Leave one out.')
  const limit = wholeNumber('limit', values.limit, { min: 1, max: MAX_LIMIT }) ?? DEFAULT_LIMIT
  const projectRoot = values.all ? undefined : await projectFolder(values.project)
  const options = { query: positionals.join(' '), limit }
  const own = await searchSessions({ ...options, projectRoot })
  const { hits, unreadable } = values.all ? await withFleet(own, options) : own
  const paint = style(wantsColour(output.isTerminal))
  await output.write(hits.map(hit => (values.json ? `${JSON.stringify(hit)}\n` : lines(hit, paint))).join(''))
  for (const { error } of unreadable) await tell(`chirality: Not searched: ${error}\n`)
  if (hits.length === 0 && !values.json) await tell('chirality: Nothing found.\n')
  return EXIT.done
}

/** Adds what the conversations of other machines have. */
async function withFleet(
  own: SearchResult,
  options: Omit<SearchOptions, 'projectRoot'>,
): Promise<SearchResult> {
  const fleet = await knownFleet()
  if (fleet === undefined) return own
  const { searchMirrors, withMirrored } = await import('@chirality/centre')
  return withMirrored(own, await searchMirrors(fleet, options), options.limit)
}

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 10_000

function lines({ sessionId, seq, at, kind, title, snippet, ranges }: SearchHit, paint: Style): string {
  const where = `${sessionId}  ${paint.dim(`#${seq} ${minute(at)} ${kind}`)}  ${plain(title ?? 'Untitled')}`
  let text = ''
  let from = 0
  for (const [start, end] of ranges) {
    text += plain(snippet.slice(from, start)) + paint.bold(plain(snippet.slice(start, end)))
    from = end
  }
  return `${where}\n  ${text}${plain(snippet.slice(from))}\n`
}

/** A new session with the same history, up to an event. */
async function forkCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    at: { type: 'string' },
    title: { type: 'string' },
    json: { type: 'boolean' },
  })
  const { session, machine } = await findAnywhere(oneArgument(positionals, 'the id of a session'))
  const atSeq = wholeNumber('at', values.at, { min: 1, max: Number.MAX_SAFE_INTEGER })
  if (atSeq !== undefined && atSeq > session.lastSeq)
    throw new UsageError(`--at is ${atSeq}, but the session has ${session.lastSeq} events.`)
  const { title } = values
  const options = { atSeq, title }
  const fork =
    machine === undefined
      ? await new SessionStore().fork(session.id, options)
      : await (await hubServer(machine)).calls.sessions.fork.mutate({ sessionId: session.id, ...options })
  if (values.json) await output.write(`${JSON.stringify(withMachine(fork, machine))}\n`)
  else
    await output.write(`${fork.id}\n${whatItKnows(fork)}Continue with: ${continueCommand(fork, machine)}\n`)
  return EXIT.done
}

function whatItKnows({ forkedFrom }: StoredSession): string {
  if (forkedFrom?.history === 'cut')
    return 'Its agent goes on from its own conversation up to here, and knows nothing later.\n'
  if (forkedFrom?.history !== 'account') return ''
  return 'Its agent begins a new conversation, with a written account of the history up to here and nothing later.\n'
}

/** Deletes all files of a session. Only the owner of its project can: no other process can stop its work. */
async function deleteCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, { yes: { type: 'boolean' } })
  const { session, machine } = await findAnywhere(oneArgument(positionals, 'the id of a session'))
  const name = `${session.id} (${plain(session.title ?? 'Untitled')})`
  const place = machine === undefined ? '' : ` on the machine ${machine}`
  const question = `Delete ${name}${place}, with its history and raw logs?`
  if (!values.yes && !(await confirmed(question, 'Deleting cannot be undone. Say --yes to do it.'))) {
    await tell('chirality: Nothing was deleted.\n')
    return EXIT.failed
  }
  if (machine === undefined) await deleteHere(session)
  else await (await hubServer(machine)).calls.sessions.delete.mutate({ sessionId: session.id })
  await output.write(`Deleted ${name}${place}.\n`)
  return EXIT.done
}

async function deleteHere(session: StoredSession): Promise<void> {
  const host = new SessionHost({ harnesses: await createHarnesses(), address: 'chirality sessions delete' })
  try {
    await host.openProject(session.projectRoot)
    await host.deleteSession(session.id)
  } finally {
    // Other sessions of the project may have been adopted; they go on.
    await host.close({ agents: 'leave' })
  }
}

/** Exports a session to stdout, or to a file that must not exist yet. */
async function exportCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    format: { type: 'string' },
    output: { type: 'string' },
  })
  const id = oneArgument(positionals, 'the id of a session')
  const format = FORMATS[oneOf('format', values.format, NAMES) ?? formatOf(values.output)]
  const { session, machine, logRoot } = await findAnywhere(id)
  const mirrored = machine === undefined ? undefined : session
  const parts = exportSession(logRoot, session.id, { format, session: mirrored })
  if (values.output === undefined) {
    for await (const part of parts) if (!(await output.write(part))) break
    return EXIT.done
  }
  await writeNew(values.output, parts)
  await tell(`chirality: Wrote ${values.output}. Keys and passwords that were recognised are taken out.\n`)
  return EXIT.done
}

const FORMATS = { md: 'markdown', json: 'json', html: 'html' } as const satisfies Record<string, ExportFormat>
type FormatName = keyof typeof FORMATS
const NAMES: readonly FormatName[] = ['md', 'json', 'html']

function formatOf(file: string | undefined): FormatName {
  const ending = path.extname(file ?? '').slice(1)
  return NAMES.find(name => name === ending) ?? 'md'
}

async function writeNew(file: string, parts: AsyncIterable<string>): Promise<void> {
  const fd = openNew(file)
  try {
    for await (const part of parts) writeWhole(fd, Buffer.from(part))
    closeSync(fd)
  } catch (error) {
    closeSync(fd)
    // A partial export would look complete.
    rmSync(file, { force: true })
    throw error
  }
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
}

function openNew(file: string): number {
  try {
    return openSync(file, 'wx', 0o600)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new UsageError(`${file} exists. Remove it, or name another with --output.`)
    throw new UsageError(`${file} cannot be written (${code}). Name another with --output.`)
  }
}
