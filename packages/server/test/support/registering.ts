import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { bundleProgram } from '@chirality/fixtures/bundle-program'

export interface Registering {
  name: string
  /** Adds and forgets projects; resolves when the process is done. */
  change(): Promise<void>
}

/** How many each adds; it forgets those with an even number. */
export const FOLDERS = 30

/** Other processes that use the same list of projects, ready to begin when told to. */
export async function startRegistering(
  home: string,
  folder: string,
  names: readonly string[],
): Promise<Registering[]> {
  const program = await bundleProgram(fileURLToPath(new URL('../programs/registering.ts', import.meta.url)))
  try {
    return await Promise.all(
      names.map(name => start([program.file, home, folder, name, String(FOLDERS)], name)),
    )
  } finally {
    program.remove()
  }
}

async function start(args: readonly string[], name: string): Promise<Registering> {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  await once(child.stdout, 'data')
  return {
    name,
    change: async () => {
      child.stdin.end('go')
      const [code] = (await exited) as [number | null]
      if (code !== 0) throw new Error(`${name} ended with ${code}`)
    },
  }
}
