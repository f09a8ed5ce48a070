import { readFile } from 'node:fs/promises'
import { hideEnvironment, MARKER_VARIABLE, processEnv } from '@chirality/runner'
import type { RunningServer } from '@chirality/server'
import { EXIT, UsageError } from '../exit-code.ts'
import { namedHarness } from '../harnesses.ts'
import { noArgument, readOptions } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { anyServerFor, connected, type LocalServer } from '../running-server.ts'
import { EditorAgent } from './acp/editor-agent.ts'
import { EditorConnection } from './acp/editor-connection.ts'
import { readServeOptions } from './serve/serve-options.ts'
import { start, stopSignals } from './serve.ts'

/** Chirality as an agent for editors, through the Agent Client Protocol on stdin and stdout. */
export async function acp(args: string[], output: Output): Promise<number> {
  hideEnvironment()
  const { values, positionals } = readOptions(args, {
    harness: { type: 'string' },
    persona: { type: 'string' },
    model: { type: 'string' },
  })
  noArgument(positionals)
  const harness = await namedHarness(values.harness)
  // Each agent adds its marker: one that runs this as its own agent would do so without end.
  if ((processEnv()[MARKER_VARIABLE] ?? '').split(':').length > MAX_DEPTH)
    throw new UsageError('An agent of Chirality runs this already. It can use `chirality mcp`.')
  const servers = new Servers()
  const agent = new EditorAgent({
    version: await version(),
    newSession: {
      ...(harness === undefined ? {} : { harness }),
      ...(values.persona === undefined ? {} : { persona: values.persona }),
      ...(values.model === undefined ? {} : { model: values.model }),
    },
    serverFor: project => servers.for(project),
    tell: text => void tell(text),
  })
  const editor = new EditorConnection(output, {
    onRequest: (method, params) => agent.onRequest(method, params),
    onNotification: (method, params) => agent.onNotification(method, params),
    explain: error => agent.explain(error),
  })
  agent.connect(editor)
  const stop = stopSignals()
  const lost = new Promise<void>(resolve => output.onLost(resolve))
  try {
    await Promise.race([editor.read(process.stdin), stop.first, lost])
  } finally {
    process.stdin.destroy()
    output.hurry()
    agent.close()
    await servers.close(stop.second)
  }
  return EXIT.done
}

const MAX_DEPTH = 2

/** The servers of this user that run, and one of this process if there is none. */
class Servers {
  #own: Promise<RunningServer> | null = null

  async for(project: string): Promise<LocalServer> {
    const running = await anyServerFor(project)
    if (running !== undefined) return running
    // A start that failed is tried again with the next session.
    this.#own ??= this.#start().catch((error: unknown) => {
      this.#own = null
      throw error
    })
    const { url, token } = await this.#own
    return connected({ url, token, pid: process.pid })
  }

  /** Ends the agents of the own server; those of another one go on, and its dashboard has their requests. */
  async close(hurry: Promise<void>): Promise<void> {
    const server = await this.#own?.catch(() => null)
    if (!server) return
    await Promise.race([server.close({ agents: 'stop' }), hurry.then(() => server.killAgents())])
  }

  async #start(): Promise<RunningServer> {
    const started = await start(await readServeOptions(['--port', '0', '--no-open']), [])
    if (started.kind !== 'started') throw new Error('The server of Chirality could not be started.')
    await tell(
      `Chirality runs at ${started.server.url} while this editor does. \`chirality link\` leads there.\n`,
    )
    return started.server
  }
}

async function version(): Promise<string> {
  const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
