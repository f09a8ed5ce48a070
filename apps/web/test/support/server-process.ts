import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { sharedBundle } from '@chirality/fixtures/bundle-program'

const HERE = path.join(import.meta.dirname, '../..')

export interface ServerProcess {
  url: string
  /** Signs a browser in, once. */
  link: string
  token: string
  pid: number
  /** One more link that signs in: each works only once. */
  newLink(): Promise<string>
  stop(): Promise<void>
  /** Ends it as a machine that runs out of memory does. */
  kill(): Promise<void>
}

/** The whole program, as `chirality serve` runs it, in an environment that is given whole. */
export async function startServerProcess(
  args: readonly string[],
  env: Record<string, string>,
): Promise<ServerProcess> {
  const all = ['serve', '--json', '--no-open', ...args]
  const file = await sharedBundle(path.join(HERE, '../cli/src/main.ts'))
  const program = `import(${JSON.stringify(file)}).then(async ({ main }) => process.exit(await main(${JSON.stringify(all)})))`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    ...{ cwd: HERE, env, stdio: ['ignore', 'pipe', 'inherit'] },
  })
  const exited = once(child, 'exit')
  const end = (signal: NodeJS.Signals) => async () => {
    child.kill(signal)
    await exited
  }
  const lines = createInterface({ input: child.stdout })
  const [first] = await Promise.race([once(lines, 'line'), exited.then(() => [undefined])])
  if (typeof first !== 'string') throw new Error('The server ended before it said where it is.')
  const { url, link, token, pid } = JSON.parse(first) as Omit<ServerProcess, 'stop' | 'kill' | 'newLink'>
  const ends = { stop: end('SIGTERM'), kill: end('SIGKILL') }
  return { url, link, token, pid, newLink: () => newSignInLink(url, token), ...ends }
}

async function newSignInLink(url: string, token: string): Promise<string> {
  const answer = await fetch(`${url}/trpc/system.newSignInLink`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  })
  const { result } = (await answer.json()) as { result: { data: { url: string } } }
  return result.data.url
}
