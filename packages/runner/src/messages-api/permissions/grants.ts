import { createHash } from 'node:crypto'

/** What a person allowed for the rest of a session: exactly this input of this tool. */
export class Grants {
  readonly #granted = new Set<string>()

  add(tool: string, input: Record<string, unknown>): void {
    this.#granted.add(keyOf(tool, input))
  }

  has(tool: string, input: Record<string, unknown>): boolean {
    return this.#granted.has(keyOf(tool, input))
  }
}

/** As short as it is for a file of megabytes. The words that describe a command to people change nothing about it. */
function keyOf(tool: string, { description: _, ...input }: Record<string, unknown>): string {
  const call = [tool, Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1))]
  return createHash('sha256').update(JSON.stringify(call)).digest('base64')
}
