import { HarnessError, type ImportedSession } from '@chirality/core'
import { EXIT } from '../../exit-code.ts'
import { type CommandHarness, DEFAULT_HARNESS } from '../../harnesses.ts'
import { wantsColour } from '../../render/style.ts'
import type { SessionsRequest } from './list-native.ts'
import { transcript } from './transcript.ts'

/** A conversation as envelopes, or as text with how to go on. */
export async function importSession(id: string, request: SessionsRequest): Promise<number> {
  const { output, project, json } = request
  const { harness, imported } = await find(id, request)
  if (json) {
    for (const envelope of imported.envelopes) {
      if (!(await output.write(`${JSON.stringify(envelope)}\n`))) break
    }
    return EXIT.done
  }
  await output.write(transcript(imported.envelopes, { colour: wantsColour(output.isTerminal) }))
  await output.write(`\nContinue with: ${command(harness, imported, project)}\n`)
  return EXIT.done
}

interface Found {
  harness: CommandHarness
  imported: ImportedSession
}

/** An id does not say whose it is, so each agent is asked. */
async function find(id: string, { harnesses, project }: SessionsRequest): Promise<Found> {
  for (const harness of harnesses) {
    try {
      return { harness, imported: await harness.importSession(id, project) }
    } catch (error) {
      if (!(error instanceof HarnessError) || error.code !== 'session_not_found') throw error
    }
  }
  const ids = harnesses.map(harness => harness.id)
  const message = `There is no conversation ${id} of ${ids.join(' or ')}. See \`chirality sessions import\`.`
  throw new HarnessError(message, 'session_not_found', ids.join(', '))
}

function command(harness: CommandHarness, { session }: ImportedSession, project: string): string {
  const words = ['chirality run', `--session ${session.claudeSessionId}`]
  if (harness.id !== DEFAULT_HARNESS) words.push(`--harness ${harness.id}`)
  if (session.projectRoot !== project) words.push(`--project ${quoted(session.projectRoot)}`)
  return `${words.join(' ')} "…"`
}

function quoted(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
