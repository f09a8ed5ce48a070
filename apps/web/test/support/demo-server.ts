import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'

const HERE = path.join(import.meta.dirname, '../..')

export interface DemoServer {
  url: string
  /** Signs a browser in and opens the demo's session. */
  link: string
  stop(): Promise<void>
}

/** The whole program, as `chirality serve --demo` runs it, with a data folder of its own. */
export async function startDemoServer(): Promise<DemoServer> {
  const home = await mkdtemp(path.join(tmpdir(), 'chirality-demo-'))
  const main = path.join(HERE, '../cli/src/main.ts')
  const program = `import(${JSON.stringify(main)}).then(async ({ main }) => process.exit(await main(${JSON.stringify(ARGS)})))`
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--conditions=@chirality/source', '--input-type=module', '--eval', program],
    {
      cwd: HERE,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: home,
        TMPDIR: home,
        TSX_DISABLE_CACHE: '1',
        CHIRALITY_HOME: path.join(home, 'data'),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const exited = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
    await rm(home, { recursive: true, force: true })
  }
  const lines = createInterface({ input: child.stdout })
  const [first] = await Promise.race([once(lines, 'line'), exited.then(() => [undefined])])
  if (typeof first !== 'string') {
    await stop()
    throw new Error('The server ended before it said where it is.')
  }
  const { url, link } = JSON.parse(first) as { url: string; link: string }
  return { url, link, stop }
}

const ARGS = ['serve', '--demo', '--json', '--no-open', '--port', '0']
