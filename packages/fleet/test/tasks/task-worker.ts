import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Claims } from '../../src/claim/claims.ts'
import { fleetFolder, readMember } from '../../src/engine/fleet-files.ts'
import { openLink } from '../../src/engine/link.ts'
import type { Beat } from '../../src/machines.ts'
import { answerCalls } from '../../src/rpc/calls.ts'
import { subjects } from '../../src/subjects.ts'
import { WorkDesk } from '../../src/work/work-desk.ts'
import { ProcessCraft } from './process-craft.ts'
import { AGENT, LABEL, PROJECT } from './task-names.ts'

/** A worker whose agents are processes that write marks. It is killed at any time, and started again. */
const [home = '', marks = ''] = process.argv.slice(2)
const member = await readMember(home)
const link = member && (await openLink(member, new AbortController().signal))
if (member === undefined || link === undefined) throw new Error(`${home} is no machine of a fleet.`)
const { machine } = member
mkdirSync(fleetFolder(home), { recursive: true })
const craft = new ProcessCraft({ folder: join(home, 'tasks'), machine, marks })
const desk = new WorkDesk({
  machine,
  craft,
  folder: join(fleetFolder(home), 'work'),
  claims: new Claims(link, machine),
})
answerCalls(link, machine, {
  call: async ({ input }) => craft.isDone(String(input)),
  bytes: () => Buffer.alloc(0),
  moves: { answer: async () => null, bytes: async () => Buffer.alloc(0), close: async () => {} },
  work: desk,
  spent: () => {},
})
const beat: Beat = {
  role: 'worker',
  version: '',
  labels: [LABEL],
  slots: 8,
  busy: 0,
  load: 0,
  projects: [],
  copies: true,
  agents: [{ id: AGENT, name: AGENT, installed: true, loggedIn: true, version: null }],
  repositories: [{ root: PROJECT, key: PROJECT }],
  spent: [],
}
process.send?.('answers')
for (;;) {
  await link.publish(subjects.presence(machine), Buffer.from(JSON.stringify(beat))).catch(() => {})
  desk.lookSoon()
  await sleep(1_000)
}
