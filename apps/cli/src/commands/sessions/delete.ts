import { createInterface } from 'node:readline/promises'
import { SessionHost } from '@chirality/sessions'
import { EXIT, UsageError } from '../../exit-code.ts'
import { createHarnesses } from '../../harnesses.ts'
import { oneArgument, readOptions } from '../../options.ts'
import { type Output, tell } from '../../output.ts'
import { plain } from '../../render/style.ts'
import { findSession } from './find-session.ts'

/** Deletes all files of a session. Only the owner of its project can: no other process can stop its work. */
export async function deleteCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, { yes: { type: 'boolean' } })
  const session = await findSession(oneArgument(positionals, 'the id of a session'))
  const name = `${session.id} (${plain(session.title ?? 'Untitled')})`
  if (!values.yes && !(await confirmed(`Delete ${name}, with its history and raw logs? [y/N] `))) {
    await tell('chirality: Nothing was deleted.\n')
    return EXIT.failed
  }
  const host = new SessionHost({ harnesses: await createHarnesses(), address: 'chirality sessions delete' })
  try {
    await host.openProject(session.projectRoot)
    await host.deleteSession(session.id)
  } finally {
    // Other sessions of the project may have been adopted; they go on.
    await host.close({ agents: 'leave' })
  }
  await output.write(`Deleted ${name}.\n`)
  return EXIT.done
}

async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new UsageError('Deleting cannot be undone. Say --yes to do it.')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim())
  } finally {
    terminal.close()
  }
}
