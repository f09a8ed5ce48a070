import { createInterface } from 'node:readline/promises'
import { UsageError } from './exit-code.ts'

/** What is typed on the terminal. Undefined without one. */
export async function asked(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await terminal.question(question)).trim()
  } finally {
    terminal.close()
  }
}

/** Asks on the terminal. Without one it is a usage error, whose words say how to agree beforehand. */
export async function confirmed(question: string, withoutTerminal: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new UsageError(withoutTerminal)
  return /^y(es)?$/i.test((await asked(`${question} [y/N] `)) ?? '')
}
