import { byNewest, type NativeSession } from '@chirality/core'
import { EXIT } from '../../exit-code.ts'
import { HARNESS_WIDTH, type NativeKeepers } from '../../harnesses.ts'
import { type Output, tell } from '../../output.ts'
import { minute, plain, style, wantsColour } from '../../render/style.ts'

export interface NativeRequest extends NativeKeepers {
  /** Undefined: of every folder. */
  project: string | undefined
  limit?: number
  json: boolean
  output: Output
}

/** The conversations that can be imported, newest first, of all agents. */
export async function listNative(request: NativeRequest): Promise<number> {
  const { harnesses, note, signal, project, limit, json, output } = request
  if (note !== undefined) await tell(`chirality: ${note}\n`)
  if (harnesses.length === 0) return EXIT.done
  const options = {
    ...(project === undefined ? {} : { cwd: project }),
    ...(limit === undefined ? {} : { limit }),
  }
  const lists = await showWaiting(
    harnesses.map(harness => [harness.meta().name, harness.listNativeSessions(options)]),
  )
  if (signal.aborted) return EXIT.interrupted
  const faults = lists.flatMap(list => (list.status === 'rejected' ? [list.reason as unknown] : []))
  // Who names one agent wants to know why it does not answer; otherwise it keeps nobody from the others.
  if (harnesses.length === 1 && faults.length > 0) throw faults[0]
  for (const fault of faults)
    await tell(`chirality: ${plain(fault instanceof Error ? fault.message : String(fault))}\n`)
  const sessions = lists
    .flatMap(list => (list.status === 'fulfilled' ? list.value : []))
    .sort(byNewest)
    .slice(0, limit)
  if (json) {
    await output.write(sessions.map(session => `${JSON.stringify(session)}\n`).join(''))
    return EXIT.done
  }
  if (sessions.length === 0) {
    await tell(
      `chirality: No ${faults.length > 0 ? 'other ' : ''}agent has a conversation${project === undefined ? '' : ` in ${project}`}.\n`,
    )
    return EXIT.done
  }
  const paint = style(wantsColour(output.isTerminal))
  await output.write(sessions.map(session => line(session, paint.dim)).join(''))
  await tell('chirality: Take one over with `chirality sessions import ID`.\n')
  return EXIT.done
}

function line(
  { nativeSessionId, harness, updatedAt, title }: NativeSession,
  dim: (text: string) => string,
): string {
  return `${nativeSessionId}  ${dim(`${harness.padEnd(HARNESS_WIDTH)} ${updatedAt === undefined ? NO_TIME : minute(updatedAt)}`)}  ${plain(title)}\n`
}

/** As wide as a time in the list. */
const NO_TIME = '–'.padEnd(minute(new Date(0).toISOString()).length)

/** Waits for all. On a terminal it says for whom, when it takes long: an agent may need minutes to answer. */
export async function showWaiting<T>(
  asked: readonly (readonly [name: string, answer: Promise<T>])[],
): Promise<PromiseSettledResult<T>[]> {
  const missing = new Set(asked)
  const timer = setTimeout(() => {
    const names = [...missing].map(([name]) => plain(name)).join(', ')
    if (process.stderr.isTTY) void tell(`chirality: Asking ${names}…\n`)
  }, PATIENCE_MS)
  const answers = asked.map(async one => {
    try {
      return await one[1]
    } finally {
      missing.delete(one)
    }
  })
  try {
    return await Promise.allSettled(answers)
  } finally {
    clearTimeout(timer)
  }
}

const PATIENCE_MS = 2000
