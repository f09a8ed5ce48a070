import { realpath } from 'node:fs/promises'
import { type RawLogRule, SessionHost } from '@chirality/sessions'
import { EXIT, UsageError } from '../../exit-code.ts'
import { createHarnesses } from '../../harnesses.ts'
import { noArgument, projectFolder, readOptions, wholeNumber } from '../../options.ts'
import { type Output, tell } from '../../output.ts'
import { type LocalServer, serverOf } from '../../running-server.ts'

/** Deletes old raw logs of a project, after saying which; sessions, their history and what runs stay. */
export async function pruneCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    ...{ project: { type: 'string' }, 'older-than': { type: 'string' }, 'max-gb': { type: 'string' } },
    ...{ yes: { type: 'boolean' }, json: { type: 'boolean' } },
  })
  noArgument(positionals)
  const rule = ruleOf(values['older-than'], values['max-gb'])
  const project = await realpath(await projectFolder(values.project))
  const server = await serverOf(project)
  const { logs, bytes, inUse } = await plan(server, project, rule)
  if (inUse.logs > 0)
    await tell(
      `chirality: ${amount(inUse)} past the limit stay: a running agent or an unfinished turn needs them.\n`,
    )
  if (!values.yes || logs === 0) {
    await output.write(values.json ? `${JSON.stringify({ logs, bytes })}\n` : wouldGo({ logs, bytes }))
    return EXIT.done
  }
  const gone = await prune(server, project, rule)
  await output.write(values.json ? `${JSON.stringify(gone)}\n` : `Deleted ${amount(gone)}.\n`)
  return EXIT.done
}

interface Amount {
  logs: number
  bytes: number
}

function ruleOf(days: string | undefined, gigabytes: string | undefined): RawLogRule {
  if ((days === undefined) === (gigabytes === undefined))
    throw new UsageError('Say which raw logs go: --older-than DAYS, or --max-gb N for all but the newest.')
  if (days !== undefined)
    return { keep: 'days', days: wholeNumber('older-than', days, { min: 1, max: MAX_DAYS }) ?? MAX_DAYS }
  const size = Number(gigabytes)
  if (!(size > 0 && size <= MAX_GIGABYTES))
    throw new UsageError(`--max-gb must be a number above 0 and at most ${MAX_GIGABYTES}.`)
  return { keep: 'size', bytes: Math.max(1, Math.round(size * GIGABYTE)) }
}

const MAX_DAYS = 36_500
const MAX_GIGABYTES = 1_000_000
const GIGABYTE = 1e9

/** The server that has the project knows which logs are in use. */
async function plan(
  server: LocalServer | undefined,
  project: string,
  rule: RawLogRule,
): Promise<Amount & { inUse: Amount }> {
  if (server !== undefined) return server.calls.data.plan.query({ project, rule })
  return withHost(async host => {
    const { going, inUse } = await host.rawLogsToPrune([project], rule)
    return { ...sum(going), inUse: sum(inUse) }
  })
}

async function prune(server: LocalServer | undefined, project: string, rule: RawLogRule): Promise<Amount> {
  if (server !== undefined) {
    const { logs, bytes } = await server.calls.data.prune.mutate({ project, rule })
    return { logs, bytes }
  }
  return withHost(async host => sum(await host.pruneRawLogs([project], rule)))
}

async function withHost<T>(work: (host: SessionHost) => Promise<T>): Promise<T> {
  const host = new SessionHost({ harnesses: await createHarnesses(), address: 'chirality sessions prune' })
  try {
    return await work(host)
  } finally {
    // Turns of the project may have been adopted; they go on.
    await host.close({ agents: 'leave' })
  }
}

function sum(logs: readonly { bytes: number }[]): Amount {
  return { logs: logs.length, bytes: logs.reduce((all, { bytes }) => all + bytes, 0) }
}

function wouldGo(found: Amount): string {
  return found.logs === 0
    ? 'No raw log is past the limit.\n'
    : `${amount(found)} would be deleted. Sessions and their history stay. Say --yes to do it.\n`
}

function amount({ logs, bytes }: Amount): string {
  return `${logs} raw log${logs === 1 ? '' : 's'} (${(bytes / 1e6).toFixed(1)} MB)`
}
