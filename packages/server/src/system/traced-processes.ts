import path from 'node:path'
import { z } from 'zod'
import { readOwnFile } from '../files/read-own-file.ts'

const RECORD = z.object({
  turnId: z.string(),
  harness: z.string(),
  processes: z.array(z.object({ pid: z.number(), startTime: z.string(), marker: z.string() })),
})

export type TracedTurn = z.infer<typeof RECORD>
export type TracedProcess = TracedTurn['processes'][number]

/** The agents of the turn that runs in a session, from the record that is kept of it; undefined when there is none. */
export async function tracedProcesses(
  projectRoot: string,
  sessionId: string,
): Promise<TracedTurn | undefined> {
  const file = path.join(projectRoot, '.chirality', 'state', 'turns', `${sessionId}.json`)
  try {
    return RECORD.parse(JSON.parse(await readOwnFile(file)))
  } catch {
    return undefined
  }
}
