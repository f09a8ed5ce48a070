import type { NativeSession } from '@chirality/core'
import { EXIT } from '../../exit-code.ts'
import type { CommandHarness } from '../../harnesses.ts'
import { type Output, tell } from '../../output.ts'
import { plain, style, wantsColour } from '../../render/style.ts'

export interface SessionsRequest {
  /** Which agents are asked. */
  harnesses: readonly CommandHarness[]
  project: string
  json: boolean
  output: Output
}

/** What can be imported, newest first, of all agents. */
export async function listNative({ harnesses, project, json, output }: SessionsRequest): Promise<number> {
  const lists = await Promise.all(harnesses.map(harness => harness.listNativeSessions({ cwd: project })))
  const sessions = lists.flat().sort((a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt))
  if (json) {
    await output.write(sessions.map(session => `${JSON.stringify(session)}\n`).join(''))
    return EXIT.done
  }
  if (sessions.length === 0) {
    await tell(`chirality: No agent has a conversation in ${project}.\n`)
    return EXIT.done
  }
  const paint = style(wantsColour(output.isTerminal))
  await output.write(sessions.map(session => line(session, paint.dim)).join(''))
  await tell('chirality: Read one with `chirality sessions import ID`.\n')
  return EXIT.done
}

function line(
  { nativeSessionId, harness, updatedAt, title }: NativeSession,
  dim: (text: string) => string,
): string {
  const when = updatedAt.slice(0, 'YYYY-MM-DDTHH:MM'.length).replace('T', ' ')
  return `${nativeSessionId}  ${dim(`${harness.padEnd(HARNESS_WIDTH)} ${when}`)}  ${plain(title)}\n`
}

const HARNESS_WIDTH = 'claude-code'.length
