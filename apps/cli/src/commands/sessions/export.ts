import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'
import { type ExportFormat, exportSession } from '@chirality/sessions'
import { EXIT, UsageError } from '../../exit-code.ts'
import { oneArgument, oneOf, readOptions } from '../../options.ts'
import { type Output, tell } from '../../output.ts'
import { findSession } from './find-session.ts'

/** Exports a session to stdout, or to a file that must not exist yet. */
export async function exportCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    format: { type: 'string' },
    output: { type: 'string' },
  })
  const id = oneArgument(positionals, 'the id of a session')
  const format = FORMATS[oneOf('format', values.format, NAMES) ?? formatOf(values.output)]
  const session = await findSession(id)
  const parts = exportSession(session.projectRoot, session.id, { format })
  if (values.output === undefined) {
    for await (const part of parts) if (!(await output.write(part))) break
    return EXIT.done
  }
  await writeNew(values.output, parts)
  await tell(`chirality: Wrote ${values.output}. Keys and passwords that were recognised are taken out.\n`)
  return EXIT.done
}

const FORMATS = { md: 'markdown', json: 'json', html: 'html' } as const satisfies Record<string, ExportFormat>
type FormatName = keyof typeof FORMATS
const NAMES: readonly FormatName[] = ['md', 'json', 'html']

function formatOf(file: string | undefined): FormatName {
  const ending = path.extname(file ?? '').slice(1)
  return NAMES.find(name => name === ending) ?? 'md'
}

async function writeNew(file: string, parts: AsyncIterable<string>): Promise<void> {
  const fd = openNew(file)
  try {
    for await (const part of parts) writeWhole(fd, Buffer.from(part))
    closeSync(fd)
  } catch (error) {
    closeSync(fd)
    // A partial export would look complete.
    rmSync(file, { force: true })
    throw error
  }
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
}

function openNew(file: string): number {
  try {
    return openSync(file, 'wx', 0o600)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new UsageError(`${file} exists. Remove it, or name another with --output.`)
    throw new UsageError(`${file} cannot be written (${code}). Name another with --output.`)
  }
}
