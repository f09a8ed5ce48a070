import { createHarnesses, HARNESS_IDS } from '../harnesses.ts'
import { oneOf, readOptions } from '../options.ts'
import type { Output } from '../output.ts'
import { projectFolder } from '../project-folder.ts'
import { UsageError } from '../usage-error.ts'
import { importSession } from './sessions/import-session.ts'
import { listNative } from './sessions/list-native.ts'

/** The conversations that the agents keep: which there are, and what was said in one. Writes nothing. */
export async function sessions(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    native: { type: 'boolean' },
    harness: { type: 'string' },
    project: { type: 'string' },
    json: { type: 'boolean' },
  })
  const [action, id, ...more] = positionals
  const harnesses = createHarnesses()
  const harness = oneOf('harness', values.harness, HARNESS_IDS)
  const chosen = harness === undefined ? harnesses.getAll() : [harnesses.getOrThrow(harness)]
  const request = { harnesses: chosen, json: values.json ?? false, output }
  if (more.length > 0) throw new UsageError(`Unexpected argument "${more[0]}".`)
  switch (action) {
    case 'list':
      if (id !== undefined)
        throw new UsageError(`sessions list takes no id. Read one with: sessions import ${id}`)
      if (!values.native)
        throw new UsageError('sessions list needs --native: this version keeps no list of its own.')
      return listNative({ ...request, project: await projectFolder(values.project) })
    case 'import': {
      const project = await projectFolder(values.project)
      return id === undefined
        ? listNative({ ...request, project })
        : importSession(id, { ...request, project })
    }
    case undefined:
      throw new UsageError('Say what to do: sessions list --native, or sessions import [ID].')
    default:
      throw new UsageError(`sessions knows list and import, not "${action}".`)
  }
}
