import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Script } from '@chirality/scripted-model'

/** A scripted model in a process of its own, for what blocks this one. */
export async function serveScript(script: Script): Promise<{ url: string; close(): Promise<unknown> }> {
  const program = fileURLToPath(new URL('../programs/serve-script.ts', import.meta.url))
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const args = ['--import', 'tsx', '--conditions=@chirality/source', program, JSON.stringify(script)]
  const child = spawn(process.execPath, args, { cwd, stdio: ['pipe', 'pipe', 'inherit'] })
  const [url] = await once(child.stdout.setEncoding('utf8'), 'data')
  const close = () => {
    child.stdin.end()
    return once(child, 'exit')
  }
  return { url: String(url).trim(), close }
}
