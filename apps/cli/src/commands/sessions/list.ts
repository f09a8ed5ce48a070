import { byNewest, conditionOf, costText, type SessionCondition } from '@chirality/core'
import { SessionStore, type StoredSession } from '@chirality/sessions'
import { EXIT, UsageError } from '../../exit-code.ts'
import { sessionsOfFleet } from '../../fleet-sessions.ts'
import { HARNESS_WIDTH, withNativeKeepers } from '../../harnesses.ts'
import { noArgument, projectFolder, readOptions, wholeNumber } from '../../options.ts'
import { type Output, tell } from '../../output.ts'
import { minute, plain, type Style, style, wantsColour } from '../../render/style.ts'
import { withMachine } from './find-anywhere.ts'
import { listNative } from './list-native.ts'
import { type LoopTask, tasksOf, taskWord } from './loop-tasks.ts'

/** Sessions of a project or of all, newest first; with --native, the agents' own conversations. */
export async function listCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    all: { type: 'boolean' },
    archived: { type: 'boolean' },
    native: { type: 'boolean' },
    harness: { type: 'string' },
    limit: { type: 'string' },
    json: { type: 'boolean' },
  })
  noArgument(positionals)
  if (values.all && values.project !== undefined)
    throw new UsageError('--all and --project exclude each other. Leave one out.')
  const limit = wholeNumber('limit', values.limit, { min: 1, max: MAX_LIMIT }) ?? DEFAULT_LIMIT
  const json = values.json ?? false
  if (values.native) {
    const project = values.all ? undefined : await projectFolder(values.project)
    return withNativeKeepers(values.harness, keepers =>
      listNative({ ...keepers, project, limit, json, output }),
    )
  }
  if (values.harness !== undefined) throw new UsageError('--harness goes with --native.')
  const projectRoot = values.all ? undefined : await projectFolder(values.project)
  return listStored({ projectRoot, limit, json, output, archived: values.archived ?? false })
}

interface ListRequest {
  projectRoot: string | undefined
  limit: number
  json: boolean
  /** Only what was put away, which is left out otherwise. */
  archived: boolean
  output: Output
}

async function listStored({ projectRoot, limit, json, archived, output }: ListRequest): Promise<number> {
  const isWanted = ({ shelf }: StoredSession) => (shelf === 'archived') === archived
  const { sessions: own, nextCursor } = await new SessionStore().page({ projectRoot, limit, isWanted })
  // A project is a folder of this machine.
  const others = projectRoot === undefined ? await sessionsOfFleet() : []
  const machines = new Map(others.map(({ session, machine }) => [session, machine]))
  const all = [...own, ...[...machines.keys()].filter(isWanted)].sort(byNewest)
  const sessions = all.slice(0, limit)
  if (json) {
    const texts = sessions.map(session => JSON.stringify(withMachine(session, machines.get(session))))
    await output.write(texts.map(text => `${text}\n`).join(''))
    return EXIT.done
  }
  const paint = style(wantsColour(output.isTerminal))
  const place = (session: StoredSession) => {
    const machine = machines.get(session)
    return `${plain(session.projectRoot)}${machine === undefined ? '' : ` on ${machine}`}`
  }
  const tasks = await tasksOf(sessions.filter(session => !machines.has(session)))
  const lines = sessions.map(session =>
    line(session, paint, tasks.get(session.id), projectRoot === undefined ? place(session) : undefined),
  )
  await output.write(lines.join(''))
  if (sessions.length === 0)
    await tell(
      `chirality: No ${archived ? 'archived ' : ''}sessions${projectRoot === undefined ? '' : ` in ${projectRoot}`} yet.\n`,
    )
  if (nextCursor !== undefined || all.length > limit)
    await tell(`chirality: There are more; --limit shows them.\n`)
  return EXIT.done
}

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 1_000_000

function line(
  session: StoredSession,
  paint: Style,
  task: LoopTask | undefined,
  place: string | undefined,
): string {
  const { id, harness, updatedAt, costUsd, costIsEstimate, title } = session
  const facts = `${(harness ?? '–').padEnd(HARNESS_WIDTH)} ${minute(updatedAt)} ${(costText({ usd: costUsd, isEstimate: costIsEstimate }) ?? '–').padStart(COST_WIDTH)}`
  const word = taskWord(session, task) ?? CONDITION_WORDS[conditionOf({ ...session, phase: session.status })]
  const work = word === '' ? '' : `${paint.yellow(word)} `
  const pin = session.shelf === 'pinned' ? paint.dim('pinned ') : ''
  return `${id}  ${paint.dim(facts)}  ${pin}${work}${plain(title ?? 'Untitled')}${place === undefined ? '' : paint.dim(`  ${place}`)}\n`
}

/** A session that is complete, or has not begun, needs no label. */
const CONDITION_WORDS: Readonly<Record<SessionCondition, string>> = {
  ...{ new: '', done: '', running: 'running', waiting: 'waiting', unanswered: 'unanswered' },
  ...{ stopped: 'stopped', limit: 'limit reached', failed: 'failed', crashed: 'crashed' },
}

const COST_WIDTH = '$00.00'.length
