import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { HarnessError, type ImportedSession } from '@chirality/core'
import {
  importExport,
  importNative,
  parseExport,
  SessionStore,
  type StoredSession,
} from '@chirality/sessions'
import { EXIT, UsageError } from '../../exit-code.ts'
import { sessionsOfFleet } from '../../fleet-sessions.ts'
import { type NativeKeepers, withNativeKeepers } from '../../harnesses.ts'
import { oneArgument, projectFolder, readOptions } from '../../options.ts'
import { type Output, tell } from '../../output.ts'
import { plain, wantsColour } from '../../render/style.ts'
import { continueCommand } from './find-session.ts'
import { listNative, showWaiting } from './list-native.ts'
import { lastTurns } from './transcript.ts'

/** Imports a conversation that an agent stores, or an export; without an argument, lists what can be imported. */
export async function importCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    file: { type: 'string' },
    harness: { type: 'string' },
    project: { type: 'string' },
    json: { type: 'boolean' },
  })
  const json = values.json ?? false
  if (values.file !== undefined && (positionals.length > 0 || values.harness !== undefined))
    throw new UsageError('--file goes without an id and without --harness.')
  const project = await projectFolder(values.project)
  if (values.file !== undefined) {
    const imported = await importExport(new SessionStore(), parseExport(await readText(values.file), project))
    return report(imported, { json, output })
  }
  const id = positionals.length === 0 ? undefined : oneArgument(positionals, 'the id of a conversation')
  return withNativeKeepers(values.harness, async keepers => {
    if (id === undefined) return listNative({ ...keepers, project, json, output })
    if (keepers.harnesses.length === 0) throw new UsageError(keepers.note ?? 'Name another --harness.')
    const found = await find(id, keepers, project)
    if (keepers.signal.aborted) return EXIT.interrupted
    return report(await importNative(new SessionStore(), found), { json, output })
  })
}

/** The last messages, to recognise the session, and the command that continues it. */
async function report(
  session: StoredSession,
  { json, output }: { json: boolean; output: Output },
): Promise<number> {
  if (json) {
    await output.write(`${JSON.stringify(session)}\n`)
    return EXIT.done
  }
  await output.write(
    await lastTurns({ session, logRoot: session.projectRoot }, wantsColour(output.isTerminal)),
  )
  await output.write(`\nImported as ${session.id}.\nContinue with: ${continueCommand(session)}\n`)
  return EXIT.done
}

/** An id does not show which agent it belongs to, so each is asked. */
async function find(
  id: string,
  { harnesses, signal }: NativeKeepers,
  project: string,
): Promise<ImportedSession> {
  const faults: HarnessError[] = []
  for (const harness of harnesses) {
    try {
      const [found] = await showWaiting([[harness.meta().name, harness.importSession(id, project)]])
      if (found?.status === 'fulfilled') return found.value
      throw found?.reason
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof HarnessError)) throw error
      if (error.code !== 'session_not_found') faults.push(error)
    }
  }
  const machine = (await sessionsOfFleet()).find(({ session }) => session.id === id)?.machine
  if (machine !== undefined)
    throw new UsageError(
      `${id} is a session of the machine ${machine}, not a conversation of an agent of this one. Continue it with: chirality run --session ${id}`,
    )
  // The ids of agents look different, so one of them may not even know this one as an id.
  const [first] = faults
  if (first !== undefined && faults.length === harnesses.length) throw first
  for (const fault of faults)
    if (fault.code !== 'invalid_query') await tell(`chirality: ${plain(fault.message)}\n`)
  const ids = harnesses.map(harness => harness.id)
  const message = `There is no conversation ${id} of ${ids.join(' or ')}. See \`chirality sessions import\`.`
  throw new HarnessError(message, 'session_not_found', ids.join(', '))
}

async function readText(file: string): Promise<string> {
  try {
    return file === '-' ? await text(process.stdin) : await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`${file} cannot be read (${code}). Name the file of an export.`)
  }
}
