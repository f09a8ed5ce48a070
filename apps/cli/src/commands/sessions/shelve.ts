import type { Client } from '@chirality/client'
import { findProjectOwner, ProjectLockedError, SessionStore, type Shelf } from '@chirality/sessions'
import { EXIT, UsageError } from '../../exit-code.ts'
import { hubServer } from '../../fleet-sessions.ts'
import { oneArgument, readOptions } from '../../options.ts'
import type { Output } from '../../output.ts'
import { plain } from '../../render/style.ts'
import { serverOf } from '../../running-server.ts'
import { type FoundSession, findAnywhere } from './find-anywhere.ts'

type Command = (args: string[], output: Output) => Promise<number>

export const archiveCommand = shelving('archived', 'Archived')
export const pinCommand = shelving('pinned', 'Pinned')

/** Puts a session out of the lists or on top of them; `--undo` puts it back. */
function shelving(shelf: NonNullable<Shelf>, done: string): Command {
  return async (args, output) => {
    const { values, positionals } = readOptions(args, { undo: { type: 'boolean' } })
    const found = await findAnywhere(oneArgument(positionals, 'the id of a session'))
    const { id, title, shelf: before } = found.session
    const name = `${id} (${plain(title ?? 'Untitled')})`
    if (values.undo && before !== shelf) throw new UsageError(`${name} is not ${shelf}.`)
    const wanted = values.undo ? null : shelf
    await changeSession(found, {
      inServer: ({ sessions }) => sessions.shelve.mutate({ sessionIds: [id], shelf: wanted }),
      inFiles: store => store.choose(id, { shelf: wanted }),
    })
    await output.write(`${values.undo ? `No longer ${shelf}:` : done} ${name}.\n`)
    return EXIT.done
  }
}

export async function renameCommand(args: string[], output: Output): Promise<number> {
  const { positionals } = readOptions(args, {})
  const [given, ...words] = positionals
  const title = words.join(' ').trim()
  const found = await findAnywhere(oneArgument(given === undefined ? [] : [given], 'the id of a session'))
  const { id } = found.session
  if (title === '') throw new UsageError('Say the new title after the id.')
  if (title.length > MAX_TITLE) throw new UsageError(`A title has at most ${MAX_TITLE} characters.`)
  await changeSession(found, {
    inServer: ({ sessions }) => sessions.rename.mutate({ sessionId: id, title }),
    inFiles: store => store.rename(id, title),
  })
  await output.write(`Renamed ${id} (${plain(title)}).\n`)
  return EXIT.done
}

const MAX_TITLE = 300

/**
 * Through the server that owns the project, so that open pages show it; in the files if no process owns it. A session of
 * another machine is changed there, through the hub.
 */
async function changeSession(
  { session: { projectRoot }, machine }: FoundSession,
  change: {
    inServer: (calls: Client) => Promise<unknown>
    inFiles: (store: SessionStore) => Promise<unknown>
  },
): Promise<void> {
  const server = machine === undefined ? await serverOf(projectRoot) : await hubServer(machine)
  if (server !== undefined) {
    await change.inServer(server.calls)
    return
  }
  const owner = await findProjectOwner(projectRoot)
  // The owner's state in memory would overwrite this change.
  if (owner !== undefined) throw new ProjectLockedError(projectRoot, owner)
  await change.inFiles(new SessionStore())
}
