import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface Registering {
  name: string
  /** Adds and forgets projects; resolves when the process is done. */
  change(): Promise<void>
}

/** How many each adds; it forgets those with an even number. */
export const FOLDERS = 30

/** Another process that uses the same list of projects, ready to begin when told to. */
export async function startRegistering(home: string, folder: string, name: string): Promise<Registering> {
  const program = fileURLToPath(new URL('../programs/registering.ts', import.meta.url))
  const args = ['--import', 'tsx', '--conditions=@chirality/source', program, home, folder, name]
  const child = spawn(process.execPath, [...args, String(FOLDERS)], { stdio: ['pipe', 'pipe', 'inherit'] })
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
