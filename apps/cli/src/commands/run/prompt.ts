import type { ReadStream } from 'node:tty'
import { UsageError } from '../../usage-error.ts'

/** The prompt that was given as an argument, or all of stdin. */
export async function readPrompt(
  positionals: string[],
  stdin: Pick<ReadStream, 'isTTY'> & AsyncIterable<unknown>,
): Promise<string> {
  const [given, ...more] = positionals
  if (more.length > 0) {
    throw new UsageError(
      `One prompt is expected, ${positionals.length} were given. Put it in quotes if it has spaces.`,
    )
  }
  if (given === undefined && stdin.isTTY) {
    throw new UsageError('No prompt. Give one in quotes, or "-" to read it from stdin.')
  }
  const prompt = given === undefined || given === '-' ? await readAll(stdin) : given
  if (prompt.trim() === '') throw new UsageError('The prompt is empty. Say what the agent should do.')
  return prompt
}

async function readAll(stdin: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
