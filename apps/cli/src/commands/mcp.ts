import { createInterface } from 'node:readline'
import { MARKER_VARIABLE, processEnv } from '@chirality/runner'
import { EXIT } from '../exit-code.ts'
import { noArgument, projectFolder, readOptions } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { anyServerFor, callProcedure } from '../running-server.ts'

/** Offers the sessions of a project to an agent or another program, through MCP on stdin and stdout. */
export async function mcp(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    http: { type: 'boolean' },
  })
  noArgument(positionals)
  const project = await projectFolder(values.project)
  const server = await anyServerFor(project)
  if (server === undefined) {
    await tell('chirality: No server of yours runs. `chirality serve` starts one.\n')
    return EXIT.failed
  }
  const marker = processEnv()[MARKER_VARIABLE]
  // The user who runs this in a folder registers it, as `chirality run` does. An agent does not choose projects.
  if (marker === undefined) await callProcedure(server, 'projects.register', { path: project })
  const door = await callProcedure<Door>(server, 'system.newProgramToken', { project, marker })
  if (values.http) {
    await output.write(`${JSON.stringify(door)}\n`)
    return EXIT.done
  }
  await relay(door, output)
  return EXIT.done
}

interface Door {
  url: string
  token: string
}

/** Passes each line of stdin to the server, and its answer to stdout. Ends with stdin. */
async function relay(door: Door, output: Output): Promise<void> {
  const open = new Map<string, AbortController>()
  const answers = new Set<Promise<unknown>>()
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === '') continue
    const message = parse(line)
    if (message === undefined) {
      await output.write(failed(null, PARSE_ERROR, 'This line is not a JSON-RPC message.'))
      continue
    }
    // Each call is a request of its own, so a call is cancelled by closing its request.
    if (message.method === 'notifications/cancelled')
      open.get(JSON.stringify(message.params?.requestId))?.abort()
    const key = JSON.stringify(message.id)
    const gone = new AbortController()
    if (message.id !== undefined) open.set(key, gone)
    const answer = ask(door, line, message, gone.signal)
      .then(text => (text === undefined || gone.signal.aborted ? undefined : output.write(text)))
      .finally(() => {
        open.delete(key)
        answers.delete(answer)
      })
    answers.add(answer)
  }
  // Nobody reads the answers any more.
  for (const gone of open.values()) gone.abort()
  await Promise.allSettled(answers)
}

interface Message {
  id?: string | number
  method?: string
  params?: { requestId?: unknown }
}

function parse(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The line of the answer. Undefined for a message that has none. */
async function ask(
  { url, token }: Door,
  line: string,
  { id }: Message,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: line,
      signal,
    })
    const text = await response.text()
    if (id === undefined) return undefined
    const value = parse(text)
    if (value !== undefined && 'jsonrpc' in value) return `${JSON.stringify(value)}\n`
    const { error } = (value ?? {}) as { error?: { message?: string } }
    return failed(id, SERVER_ERROR, error?.message ?? `The server said ${response.status}.`)
  } catch {
    if (id === undefined || signal.aborted) return undefined
    return failed(id, SERVER_ERROR, 'The server of Chirality does not answer. Start it, and connect again.')
  }
}

function failed(id: string | number | null, code: number, message: string): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`
}

const PARSE_ERROR = -32_700
const SERVER_ERROR = -32_000
