import { ScriptError, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import { EXIT, UsageError } from '../exit-code.ts'
import { readOptions, wholeNumber } from '../options.ts'
import type { Output } from '../output.ts'
import { plain } from '../render/style.ts'
import { STOP_SIGNALS } from '../stop-signals.ts'

/** Serves a script as a model until it is stopped. */
export async function scriptedModel(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    script: { type: 'string' },
    port: { type: 'string' },
    json: { type: 'boolean' },
  })
  if (positionals.length > 0)
    throw new UsageError(`Unexpected argument "${positionals[0]}". The script is named with --script.`)
  if (!values.script) throw new UsageError('--script FILE is needed: the answers that the model gives.')
  const port = wholeNumber('port', values.port, { min: 0, max: MAX_PORT })
  const stopped = stopSignal()
  const model = await start(values.script, port)
  await output.write(values.json ? facts(model) : welcome(values.script, model))
  await stopped
  await model.close()
  return EXIT.done
}

const MAX_PORT = 65_535

/** Only the first signal is handled: a second one ends the process at once. */
function stopSignal(): Promise<void> {
  return new Promise(resolve => {
    for (const signal of STOP_SIGNALS) process.once(signal, () => resolve())
  })
}

async function start(file: string, port: number | undefined): Promise<ScriptedModel> {
  try {
    return await startScriptedModel({ file }, { port })
  } catch (error) {
    if (error instanceof ScriptError) throw new UsageError(error.message)
    const { code } = error as NodeJS.ErrnoException
    const fault = code === undefined ? undefined : FAULTS.get(code)
    throw fault ? new UsageError(fault({ file, port })) : error
  }
}

const FAULTS: ReadonlyMap<string, (about: { file: string; port: number | undefined }) => string> = new Map([
  ['ENOENT', ({ file }) => `The script ${file} does not exist.`],
  ['EISDIR', ({ file }) => `The script ${file} is a folder. Name a JSON or YAML file.`],
  [
    'EADDRINUSE',
    ({ port }) => `Port ${port} is in use. Choose another, or leave --port out for any free one.`,
  ],
  ['EACCES', ({ file, port }) => `The script ${file} may not be read, or port ${port ?? 0} not be used.`],
])

function facts({ url, port }: ScriptedModel): string {
  return `${JSON.stringify({ url, port, pid: process.pid })}\n`
}

function welcome(file: string, { url, openaiUrl }: ScriptedModel): string {
  return `Serving ${plain(file)} at ${url}
  Claude Code: ANTHROPIC_BASE_URL=${url} ANTHROPIC_API_KEY=any
  OpenAI Responses: ${openaiUrl}
Ctrl-C ends it.
`
}
