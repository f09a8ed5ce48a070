// Runs one turn of a contestant, as a Chirality that will be killed in the middle of it. Prints what it hears of it.
import { writeSync } from 'node:fs'
import type { HarnessTurnOpts } from '@chirality/core'
import { everyContestant } from '../cross-harness/contestants.ts'
import type { HostRequest } from '../support/host.ts'

const PATIENT_MS = 600_000

const {
  agent: name,
  model,
  place,
  session,
  message,
  opts,
  decision,
  holdAt,
} = JSON.parse(process.argv[2] ?? '{}') as HostRequest
const agent = everyContestant().find(contestant => contestant.name === name)
if (!agent) throw new Error(`no contestant ${name}`)
const print = (line: unknown) => writeSync(1, `${JSON.stringify(line)}\n`)
const all: HarnessTurnOpts = {
  ...opts,
  onProcess: traced => print({ traced }),
  ...(decision ? { decide: () => (decision === 'never' ? forever() : Promise.resolve(decision)) } : {}),
}
const harness = await agent.create(model, place)
for await (const event of harness.startTurn(session, message, all)) {
  print({ event })
  if (event.type === holdAt) await forever()
}
await harness.close()
print({ done: true })

function forever(): Promise<never> {
  return new Promise(() => setTimeout(() => process.exit(1), PATIENT_MS))
}
