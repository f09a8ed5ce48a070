import { startScriptedModel } from '@chirality/scripted-model'
import { EXIT } from '../exit-code.ts'
import { readOptions } from '../options.ts'
import { UsageError } from '../usage-error.ts'

/** Serves a script as a model until it is interrupted. */
export async function scriptedModel(args: string[]): Promise<number> {
  const { values, positionals } = readOptions(args, {
    script: { type: 'string' },
    port: { type: 'string' },
    json: { type: 'boolean' },
  })
  if (positionals.length > 0) throw new UsageError(`Unexpected argument "${positionals[0]}".`)
  if (!values.script) throw new UsageError('--script FILE is needed: the answers the model gives.')
  const model = await start(values.script, port(values.port))
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ url: model.url, port: model.port, pid: process.pid })}\n`)
  } else {
    process.stdout.write(
      `Serving ${values.script} at ${model.url}\n` +
        `  Claude Code: ANTHROPIC_BASE_URL=${model.url} ANTHROPIC_API_KEY=any\n` +
        `  OpenAI Responses: ${model.openaiUrl}\nCtrl-C ends it.\n`,
    )
  }
  await new Promise<void>(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
  await model.close()
  return EXIT.done
}

async function start(file: string, port: number | undefined) {
  try {
    return await startScriptedModel({ file }, { port })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function port(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!/^\d+$/.test(text) || value > 65_535)
    throw new UsageError(`--port must be between 0 and 65535, not "${text}".`)
  return value
}
