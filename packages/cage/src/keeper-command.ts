import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'

/** The command that keeps one cage. Its environment needs nothing: the plan has the agent's. */
export function keeperCommand(folder: string): { command: string; args: string[] } {
  const file = fileURLToPath(new URL('./keeper/keeper.mjs', import.meta.url))
  const nonce = randomBytes(12).toString('hex')
  return { command: process.execPath, args: ['--max-semi-space-size=1', file, folder, nonce] }
}
