import { realpathSync } from 'node:fs'
import path from 'node:path'
import { errnoOf, readSmallFile, realFileOps, StorageError } from '@chirality/disk'
import { ALLOW_VARIABLE, processEnv } from '@chirality/runner'
import { userDataFolder } from '@chirality/sessions'
import { UsageError } from './exit-code.ts'

/**
 * The environment that agents get a part of, and the names that the user adds to the allow-list. These are in
 * `CHIRALITY_ALLOW_ENV`, one for each line in the file `allow-env` of the user's data folder, and in an option.
 */
export function agentEnvironment(
  environment: Record<string, string> = processEnv(),
  named: readonly string[] = [],
): Record<string, string> {
  const given = named.flatMap(list => list.split(',')).map(name => nameOf(name, '--allow-env'))
  const names = [environment[ALLOW_VARIABLE] ?? '', ...namesInFile(allowFile()), ...given].filter(Boolean)
  return names.length === 0 ? environment : { ...environment, [ALLOW_VARIABLE]: names.join(',') }
}

/** The file in which the user lists names that every agent gets. */
export function allowFile(): string {
  return path.join(userDataFolder(), 'allow-env')
}

function namesInFile(file: string): string[] {
  const lines = textOf(file).split('\n')
  return lines.flatMap((line, at) => {
    const [word = ''] = line.split('#')
    return word.trim() === '' ? [] : [nameOf(word, `${file}:${at + 1}`)]
  })
}

function nameOf(word: string, where: string): string {
  const name = word.trim()
  if (/^[A-Za-z_]\w*$/.test(name)) return name
  throw new UsageError(`${where}: "${name}" is not the name of a variable. Names only, without their values.`)
}

function textOf(file: string): string {
  try {
    // A link of the user's own is followed; a FIFO or a device behind it must not hold up every command.
    return readSmallFile(realFileOps, realpathSync(file), MAX_BYTES)?.toString('utf8') ?? ''
  } catch (error) {
    const code = errnoOf(error)
    // The file is optional. Errors of the data folder itself are reported where it is used.
    if (code === 'ENOENT' || code === 'ENOTDIR') return ''
    const why = error instanceof StorageError ? error.message : `${file} cannot be read (${code}).`
    throw new UsageError(`${why} ${file} lists names of variables, one a line.`)
  }
}

const MAX_BYTES = 64 * 1024
