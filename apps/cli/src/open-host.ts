import { hideEnvironment } from '@chirality/runner'
import { SessionHost } from '@chirality/sessions'
import { RunHarnesses } from './harnesses.ts'
import { spentElsewhere } from './spent-elsewhere.ts'

/** A host in this process, for a project that no server has open. Whoever opens it closes it. `address` names the command. */
export async function openHost(address: string): Promise<SessionHost> {
  hideEnvironment()
  let host: SessionHost | undefined
  const harnesses = await RunHarnesses.open(entry => host?.log(entry), true)
  await harnesses.loadAll()
  host = new SessionHost({ harnesses, address, spentElsewhere })
  return host
}
