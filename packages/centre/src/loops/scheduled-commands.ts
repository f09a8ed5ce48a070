import path from 'node:path'
import { allCommandsOf, type NewSchedule, parseTaskList, type Schedule } from '@chirality/loops'
import { confine } from '@chirality/workspaces'
import { readRegularFile } from '../files/read-file.ts'

type Work = NewSchedule['what']

/**
 * A scheduled list with the commands that its runs may use. Who names none allows those that the schedule had before,
 * or, for another list, those that the list names now. Throws for a list that is outside of the project, or cannot be read.
 */
export async function withCommands(root: string, what: Work, before?: Work): Promise<Work> {
  if (what.kind !== 'loop') return what
  const file = await confine(root, what.list)
  if (what.commands !== undefined) return what
  if (before?.kind === 'loop' && before.list === what.list)
    return { ...what, commands: before.commands ?? [] }
  return { ...what, commands: allCommandsOf(parseTaskList(await readRegularFile(file), path.basename(file))) }
}

/** The way on for a scheduled loop at a limit of the plan. Undefined is as its list says. */
export function limitsOfPlan({ waitForLimits, nextHarnesses }: Extract<Schedule['what'], { kind: 'loop' }>) {
  if (nextHarnesses === undefined) return { waitForLimits }
  return {
    waitForLimits,
    handOver: nextHarnesses.length > 0,
    ...(nextHarnesses.length > 0 ? { nextHarnesses } : {}),
  }
}
