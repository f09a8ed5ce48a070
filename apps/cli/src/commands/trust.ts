import { ProjectTrust, type ProjectTrustState, TrustStore } from '@chirality/sessions'
import { confirmed } from '../confirm.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { createHarnesses } from '../harnesses.ts'
import { chooseAction, noArgument, projectFolder, readOptions } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { plain, style, wantsColour } from '../render/style.ts'
import { EDITOR_SERVERS } from './acp/editor-servers.ts'

/** The settings, hooks and servers in a project's files: the list, and whether agents use them. */
export async function trust(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    yes: { type: 'boolean' },
    json: { type: 'boolean' },
  })
  const { run, rest } = chooseAction('trust', positionals.length > 0 ? positionals : ['show'], ACTIONS)
  const project = await projectFolder(values.project)
  const { yes = false, json = false } = values
  return run({ project, trust: new ProjectTrust(await createHarnesses()), rest, yes, json, output })
}

interface TrustRequest {
  project: string
  trust: ProjectTrust
  rest: string[]
  yes: boolean
  json: boolean
  output: Output
}

const ACTIONS = { show, allow, revoke }

async function show({ project, trust, rest, ...printed }: TrustRequest): Promise<number> {
  noArgument(rest)
  await print(await trust.state(project), printed)
  return EXIT.done
}

/** Only the files that are shown, or that have the given fingerprint. */
async function allow({ project, trust, rest, yes, ...printed }: TrustRequest): Promise<number> {
  const [fingerprint, ...more] = rest
  noArgument(more)
  const state = await trust.state(project)
  if (fingerprint === undefined) {
    if (state.files.length === 0)
      throw new UsageError('This project brings no agent settings. There is nothing to allow.')
    if (!printed.json) await print(state, printed)
    if (!yes && !(await confirmed('Let agents use these files?', WITHOUT_TERMINAL))) {
      await tell('chirality: Nothing was allowed.\n')
      return EXIT.failed
    }
  }
  const allowed = await trust.allow(project, fingerprint ?? state.fingerprint)
  if (printed.json) await print(allowed, printed)
  else await printed.output.write('Agents use these files from now on, until one of them changes.\n')
  return EXIT.done
}

async function revoke({ project, trust, rest, ...printed }: TrustRequest): Promise<number> {
  noArgument(rest)
  const state = await trust.revoke(project)
  await new TrustStore().revoke(project, EDITOR_SERVERS)
  if (printed.json) await print(state, printed)
  else
    await printed.output.write(
      'Agents do not use the settings of this project any more. Editors ask again before agents use their tool servers.\n',
    )
  return EXIT.done
}

async function print(
  { files, ...state }: ProjectTrustState,
  { json, output }: Pick<TrustRequest, 'json' | 'output'>,
): Promise<void> {
  const texts = files.map(({ path, content }) => ({ path, text: Buffer.from(content).toString('utf8') }))
  if (json) {
    await output.write(`${JSON.stringify({ ...state, files: texts })}\n`)
    return
  }
  const paint = style(wantsColour(output.isTerminal))
  for (const { path, text } of texts)
    await output.write(`${paint.bold(plain(path))}\n${plain(text).replace(/^/gm, '  ').trimEnd()}\n\n`)
  await output.write(`${verdict(state, files.length)}\n`)
}

function verdict(
  { isTrusted, fingerprint, problem }: Omit<ProjectTrustState, 'files'>,
  files: number,
): string {
  if (problem !== undefined) return `They are not used, and cannot be allowed: ${plain(problem)}`
  if (files === 0) return 'This project brings no agent settings.'
  if (isTrusted) return 'You allowed these files: agents use them. To take it back: chirality trust revoke'
  return `Agents do not use these files. They can run programs and send your key elsewhere. If you want that:\n  chirality trust allow ${fingerprint}`
}

const WITHOUT_TERMINAL =
  'Say which files you mean, with the fingerprint of `chirality trust show`, or --yes for these.'
