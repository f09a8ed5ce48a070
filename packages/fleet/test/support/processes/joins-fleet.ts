import { joinFleet } from '../../../src/engine/broker.ts'
import { Link } from '../../../src/engine/link.ts'
import { whenItWorks } from '../nats.ts'

export interface Joining {
  home: string
  code: string
  machine: string
}

/** Resolves when the machine is let in: a broker takes a moment to read a new key. */
export async function joinsFleet(joining: Joining): Promise<void> {
  const { member } = await whenItWorks(() => joinFleet(joining))
  await whenItWorks(async () => (await Link.open(member)).close())
}
