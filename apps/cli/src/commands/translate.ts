import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { createTranslator, NdjsonFramer, TRANSLATABLE_HARNESSES, type UIEvent } from '@chirality/core'
import { EXIT } from '../exit-code.ts'
import { oneOf, readOptions } from '../options.ts'
import { UsageError } from '../usage-error.ts'

/** Raw NDJSON in, UI events out: to see what a log means without running anything. */
export async function translate(args: string[]): Promise<number> {
  const { values, positionals } = readOptions(args, { harness: { type: 'string' } })
  const harness = oneOf('harness', values.harness, TRANSLATABLE_HARNESSES) ?? 'claude-code'
  if (positionals.length > 1) throw new UsageError('One file is expected.')
  const translator = createTranslator(harness, { sessionId: 'translate' })
  if (!translator) throw new UsageError(`The output of ${harness} cannot be translated.`)
  const framer = new NdjsonFramer()
  for await (const chunk of input(positionals[0])) {
    for (const record of framer.push(chunk)) await print(translator.translateRecord(record))
  }
  for (const record of framer.end()) await print(translator.translateRecord(record))
  await print(translator.end())
  return EXIT.done
}

async function* input(file: string | undefined): AsyncGenerator<Uint8Array> {
  if (file === undefined && process.stdin.isTTY)
    throw new UsageError('Name a file, or "-" to read from stdin.')
  const source = file === undefined || file === '-' ? process.stdin : createReadStream(file)
  try {
    for await (const chunk of source) yield chunk as Uint8Array
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!code) throw error
    throw new UsageError(`${file ?? 'stdin'} cannot be read (${code}).`)
  }
}

async function print(events: readonly UIEvent[]): Promise<void> {
  if (events.length === 0) return
  const lines = events.map(event => `${JSON.stringify(event)}\n`).join('')
  if (!process.stdout.write(lines) && !process.stdout.destroyed) await once(process.stdout, 'drain')
}
