import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { bundleProgram } from '@chirality/fixtures/bundle-program'
import type { Script } from '@chirality/scripted-model'

/** A scripted model in a process of its own, for what blocks this one. */
export async function serveScript(script: Script): Promise<{ url: string; close(): Promise<unknown> }> {
  const program = await bundleProgram(fileURLToPath(new URL('../programs/serve-script.ts', import.meta.url)))
  const args = [program.file, JSON.stringify(script)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const [url] = await once(child.stdout.setEncoding('utf8'), 'data')
  const close = async () => {
    child.stdin.end()
    await once(child, 'exit')
    program.remove()
  }
  return { url: String(url).trim(), close }
}
