import { CAGE_LEVELS, type CageLevel } from '@chirality/core'
import { CageSettings } from '@chirality/sessions'
import { EXIT } from '../exit-code.ts'
import { noArgument, oneWordOf, projectFolder, readOptions } from '../options.ts'
import type { Output } from '../output.ts'

/** Shows or sets whether the agents of a project run in a cage. */
export async function cage(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    json: { type: 'boolean' },
  })
  const [given, ...more] = positionals
  noArgument(more)
  const level = oneWordOf('LEVEL', given, CAGE_LEVELS)
  const project = await projectFolder(values.project)
  const settings = new CageSettings()
  if (level !== undefined) await settings.set(project, level)
  const isSet = settings.get(project)
  await output.write(`${values.json ? JSON.stringify({ project, cage: isSet }) : WORDS[isSet]}\n`)
  return EXIT.done
}

const WORDS: Record<CageLevel, string> = {
  off: 'The agents of this project run without a cage, unless a turn or a persona asks for one.',
  on: 'Every agent of this project runs in a cage, or does not start.',
  required: 'Every agent of this project runs in a cage with no login in reach, or does not start.',
}
