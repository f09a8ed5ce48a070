import { createReadStream } from 'node:fs'
import { createTranslator, NdjsonFramer, TRANSLATABLE_HARNESSES, type UIEvent } from '@chirality/core'
import { EXIT, UsageError } from '../exit-code.ts'
import { DEFAULT_HARNESS } from '../harnesses.ts'
import { oneOf, readOptions } from '../options.ts'
import type { Output } from '../output.ts'

/** Translates raw NDJSON to UI events, to read a log without running an agent. */
export async function translate(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, { harness: { type: 'string' } })
  const harness = oneOf('harness', values.harness, TRANSLATABLE_HARNESSES) ?? DEFAULT_HARNESS
  if (positionals.length > 1) throw new UsageError(`One file is expected, ${positionals.length} were given.`)
  const translator = createTranslator(harness, { sessionId: 'translate' })
  if (!translator) throw new UsageError(`The output of ${harness} cannot be translated.`)
  const framer = new NdjsonFramer()
  for await (const chunk of input(positionals[0])) {
    const events = framer.push(chunk).flatMap(record => translator.translateRecord(record))
    // A closed pipe, as with `… | head`, is no failure.
    if (!(await output.write(lines(events)))) return EXIT.done
  }
  const last = framer.end().flatMap(record => translator.translateRecord(record))
  await output.write(lines([...last, ...translator.end()]))
  return EXIT.done
}

async function* input(file: string | undefined): AsyncGenerator<Uint8Array> {
  if (file === undefined && process.stdin.isTTY)
    throw new UsageError('Name a file, or "-" to read from stdin.')
  const fromStdin = file === undefined || file === '-'
  const source = fromStdin ? process.stdin : createReadStream(file)
  try {
    for await (const chunk of source) yield chunk as Uint8Array
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!code) throw error
    throw new UsageError(`${fromStdin ? 'stdin' : file} ${FAULTS.get(code) ?? `cannot be read (${code})`}.`)
  }
}

const FAULTS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'does not exist'],
  ['EISDIR', 'is a folder; name a file in it'],
  ['EACCES', 'may not be read by this user'],
])

function lines(events: readonly UIEvent[]): string {
  return events.map(event => `${JSON.stringify(event)}\n`).join('')
}
