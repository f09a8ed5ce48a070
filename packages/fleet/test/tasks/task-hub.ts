import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { WorkGroups } from '../../src/claim/groups.ts'
import { fleetFolder, readMember } from '../../src/engine/fleet-files.ts'
import { openLink } from '../../src/engine/link.ts'
import { Machines } from '../../src/machines.ts'
import { askWork, callMachine } from '../../src/rpc/calls.ts'
import { parseSubject } from '../../src/subjects.ts'
import { WorkBoard } from '../../src/work/work-board.ts'
import { AGENT, type End, GROUP, LABEL, PROJECT, type TaskList } from './task-names.ts'

/** A hub that lets the workers do a list of tasks. Its journal says what it got back; it is killed at any time. */
const [home = '', list = ''] = process.argv.slice(2)
const member = await readMember(home)
const link = member && (await openLink(member, new AbortController().signal))
if (member === undefined || link === undefined) throw new Error(`${home} is no hub of a fleet.`)
const { tasks, goneMs } = JSON.parse(readFileSync(list, 'utf8')) as TaskList
const machines = new Machines(member.machine)
machines.connected(true)
link.onConnected(connected => machines.connected(connected))
for (;;) {
  try {
    await link.prepare()
    break
  } catch {
    // A broker was killed just now.
  }
}
link.follow('state', 'last-of-each', async (message, isLive) => {
  const { machine } = parseSubject(message.subject) ?? {}
  if (machine !== undefined) machines.heard(machine, message.body, isLive)
})
setInterval(() => machines.stored(link), 250)

const board = new WorkBoard({
  own: member.machine,
  machines: () => machines.list(),
  store: () => link,
  pollMs: 150,
  ...(goneMs === undefined ? {} : { goneMs }),
  ask: (machine, step) => askWork(link, machine, step),
})

const file = join(fleetFolder(home), 'groups.json')
const groups = new WorkGroups({ own: member.machine, file, store: () => link })

/** How each piece of work ended. A line is written after the work is back, and before the claim says that it is done. */
const journal = join(home, 'journal.ndjson')
const known = new Map<string, End>()
if (existsSync(journal))
  for (const line of readFileSync(journal, 'utf8').split('\n').filter(Boolean)) {
    const { work, end } = JSON.parse(line) as { work: string; end: End }
    known.set(work, end)
  }
const record = (work: string, end: End) => {
  if (known.has(work)) return
  appendFileSync(journal, `${JSON.stringify({ work, end })}\n`)
  known.set(work, end)
}

await Promise.all(
  tasks.map(async ({ id, ms }) => {
    for (let attempt = 1; ; attempt += 1) {
      const work = `${id}-${attempt}`
      const end = known.get(work) ?? (await run(work, ms))
      if (end === 'done') return
    }
  }),
)
await groups.end(GROUP)
for (;;) {
  try {
    await groups.finish()
    break
  } catch {
    // The same as above.
  }
}
await link.close()
process.exit(0)

async function run(work: string, ms: number): Promise<End> {
  const end = await board.run(
    {
      id: work,
      needs: { agent: AGENT, project: PROJECT, labels: [LABEL] },
      order: { work, ms },
      group: () => groups.open(GROUP, PROJECT),
      carry: async () => {},
      fetch: async machine =>
        record(work, (await callMachine(link, machine, { path: 'isDone', input: work })) ? 'done' : 'cut'),
      isHere: async () => false,
    },
    { signal: new AbortController().signal, isLeft: () => false },
  )
  if (end.kind === 'lost') record(work, 'lost')
  // The process before gave it up, and was killed before it had written that down.
  if (!known.has(work)) record(work, 'lost')
  return known.get(work) ?? 'lost'
}
