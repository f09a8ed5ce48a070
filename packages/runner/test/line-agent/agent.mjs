#!/usr/bin/env node
// A small agent with a line protocol: one JSON request on stdin, one JSON event a line on stdout. It keeps its conversations in HOME.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'

const { LINE_AGENT_URL: url, LINE_AGENT_KEY: key, HOME: home = '' } = process.env
const MODEL = 'line-model'
const BASH = {
  name: 'bash',
  description: 'Runs a command',
  input_schema: { type: 'object', properties: { command: { type: 'string' } } },
}

const request = JSON.parse(await text(process.stdin))
const folder = path.join(home, '.line-agent')
const messages = request.resume ? load(request.resume) : []
const session = request.resume && !request.fork ? request.resume : randomUUID()
print({ type: 'hello', session, model: MODEL })
const client = request.tools ? await connect(request.tools) : undefined
const offered = (await client?.listTools())?.tools ?? []
try {
  keep({ role: 'user', content: request.prompt })
  await converse()
} catch (error) {
  print({ type: 'failed', message: error.message })
} finally {
  await client?.close()
}

async function converse() {
  for (;;) {
    const content = await ask()
    keep({ role: 'assistant', content })
    const calls = content.filter(block => block.type === 'tool_use')
    if (calls.length === 0) return print({ type: 'done', text: content.at(-1)?.text ?? '' })
    const results = []
    for (const { id, name, input } of calls) {
      print({ type: 'call', id, name, input })
      const { output, failed } = await run(name, input)
      print({ type: 'result', id, output, failed })
      results.push({ type: 'tool_result', tool_use_id: id, content: output, is_error: failed })
    }
    keep({ role: 'user', content: results })
  }
}

/** One answer of the model, printed while it comes. */
async function ask() {
  const tools = offered.map(({ name, description, inputSchema }) => ({
    name,
    description,
    input_schema: inputSchema,
  }))
  const response = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': key },
    body: JSON.stringify({
      model: MODEL,
      max_tokens: 4096,
      stream: true,
      system: request.system,
      messages,
      tools: [BASH, ...tools],
    }),
  })
  if (!response.ok) throw new Error((await response.json()).error.message)
  const blocks = []
  let rest = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data:')) take(blocks, JSON.parse(line.slice(5)))
  }
  for (const block of blocks) if (block.type === 'text') print({ type: 'say', text: block.text })
  return blocks.map(({ json, ...block }) => (json ? { ...block, input: JSON.parse(json) } : block))
}

function take(blocks, { type, index, content_block: begun, delta }) {
  if (type === 'content_block_start') blocks[index] = { ...begun }
  if (delta?.type === 'text_delta') {
    blocks[index].text += delta.text
    print({ type: 'delta', text: delta.text })
  }
  if (delta?.type === 'input_json_delta') blocks[index].json = (blocks[index].json ?? '') + delta.partial_json
}

async function run(name, input) {
  if (name !== BASH.name) {
    const { content, isError = false } = await client.callTool({ name, arguments: input })
    return { output: content.map(part => part.text).join(''), failed: isError }
  }
  if (!request.free) return { output: 'Commands are not allowed here.', failed: true }
  const child = spawn('sh', ['-c', input.command], { stdio: ['ignore', 'pipe', 'inherit'] })
  const output = await text(child.stdout)
  return { output, failed: false }
}

async function connect({ url: address, headers }) {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  const connected = new Client({ name: 'line-agent', version: '1' })
  await connected.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } }))
  return connected
}

function load(id) {
  try {
    return JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8'))
  } catch {
    console.error(`There is no conversation ${id}.`)
    process.exit(1)
  }
}

function keep(message) {
  messages.push(message)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, `${session}.json`), JSON.stringify(messages))
}

function print(event) {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}
