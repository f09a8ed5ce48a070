import type { NativeSession } from '@chirality/core'
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
  const lists = await Promise.allSettled(harnesses.map(harness => harness.listNativeSessions(options)))
  if (signal.aborted) return EXIT.interrupted
  const faults = lists.flatMap(list => (list.status === 'rejected' ? [list.reason as unknown] : []))
  // Who names one agent wants to know why it does not answer; otherwise it keeps nobody from the others.
  if (harnesses.length === 1 && faults.length > 0) throw faults[0]
  for (const fault of faults)
    await tell(`chirality: ${plain(fault instanceof Error ? fault.message : String(fault))}\n`)
  const sessions = lists
    .flatMap(list => (list.status === 'fulfilled' ? list.value : []))
    .sort((a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt))
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
  return `${nativeSessionId}  ${dim(`${harness.padEnd(HARNESS_WIDTH)} ${minute(updatedAt)}`)}  ${plain(title)}\n`
}
