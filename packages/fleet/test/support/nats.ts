import { createServer } from 'node:net'
import { join } from 'node:path'
import { processEnv } from '@chirality/runner'
import { findNatsServer } from '../../src/engine/nats-binary.ts'

/** Kept between runs, like the agents' binaries: a fetched broker is the same for every test. */
const CACHE = join(import.meta.dirname, '..', '..', 'node_modules', '.cache')

export async function natsBinary(): Promise<string> {
  return (await findNatsServer({ home: CACHE, fetch: true, env: processEnv() })).path
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise(resolve => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** A changed configuration takes a moment to hold, and three brokers take one to find each other. The limit ends what hangs. */
export async function whenItWorks<T>(action: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + 60_000; ; ) {
    try {
      return await action()
    } catch (error) {
      if (performance.now() > end) throw error
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
}
