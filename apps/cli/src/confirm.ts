import { createInterface } from 'node:readline/promises'
import { UsageError } from './exit-code.ts'

/** Asks on the terminal. Without one it is a usage error, whose words say how to agree beforehand. */
export async function confirmed(question: string, withoutTerminal: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new UsageError(withoutTerminal)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
