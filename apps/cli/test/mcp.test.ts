import path from 'node:path'
import { expect, test } from 'vitest'
import { createWorld, type World } from './support/world.ts'

async function serve(world: World) {
  const env = { CHIRALITY_HOME: path.join(world.home, 'chirality') }
  const server = world.start(['serve', '--json', '--port', '0', '--project', world.project], { env })
  await server.shows('\n')
  const stop = async () => {
    server.signal('SIGTERM')
    expect((await server.result()).code).toBe(0)
  }
  return { env, stop }
}

const ping = (id: number, padding = '') =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'ping', params: { _meta: { padding } } })

test('chirality mcp relays each line to the server: a program starts a session and gets its answer', async () => {
  const world = await createWorld({ answers: ['Four.'] })
  const env = { CHIRALITY_HOME: path.join(world.home, 'chirality') }
  const none = await world.run(['mcp'], { env })
  expect(none).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('No server of yours runs'),
  })

  const server = world.start(['serve', '--json', '--port', '0', '--project', world.project], { env })
  await server.shows('\n')
  const program = world.start(['mcp'], { env, keepsInput: true })
  let asked = 0
  const ask = async (method: string, params: object) => {
    asked += 1
    program.write(JSON.stringify({ jsonrpc: '2.0', id: asked, method, params }))
    await program.shows(`"id":${asked}`)
    const line = program.stdout.split('\n').find(text => text.includes(`"id":${asked}`)) ?? ''
    return (JSON.parse(line) as { result: { content?: { text: string }[] } }).result
  }
  const client = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'a test', version: '1' },
  }
  expect(await ask('initialize', client)).toMatchObject({ serverInfo: { name: 'chirality' } })
  program.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
  program.write('this is no message')
  await program.shows('"code":-32700')
  const call = async (name: string, input: object) => {
    const { content } = await ask('tools/call', { name, arguments: input })
    return JSON.parse(content?.[0]?.text ?? '') as Record<string, unknown>
  }
  const { session_id } = await call('start_session', { prompt: 'Two and two?', permission_mode: 'dontAsk' })
  expect(await call('await_session', { session_id })).toMatchObject({ state: 'done', answer: 'Four.' })
  program.endInput()
  expect(await program.result()).toMatchObject({ code: 0, stderr: '' })
  server.signal('SIGTERM')
  expect((await server.result()).code).toBe(0)
})

test('more calls at once than the server takes connections are all answered, in one go', async () => {
  const world = await createWorld()
  const { env, stop } = await serve(world)
  const program = world.start(['mcp'], { env, keepsInput: true })
  const ids = Array.from({ length: 3000 }, (_, i) => i + 1)
  program.write(ids.map(id => ping(id)).join('\n'))
  await expect.poll(() => program.stdout.split('\n').length, { timeout: 240_000 }).toBe(3001)
  program.endInput()
  const { stdout, stderr, code } = await program.result()
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
  const answers = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { id: number; result?: object })
  expect(answers.filter(({ result }) => result === undefined)).toEqual([])
  await stop()
})

test('a line that is too long is refused, the next one is answered, and an answer comes after the end of the input', async () => {
  const world = await createWorld()
  const { env, stop } = await serve(world)
  const program = world.start(['mcp'], { env, keepsInput: true })
  program.write(ping(1, 'x'.repeat(17 * 1024 * 1024)))
  program.write('[]\n\n{"id":')
  // Not as the protocol has it; the answer has to name it all the same.
  program.write('{"jsonrpc":"2.0","id":7,"method":"ping","more":1}')
  await program.shows('"id":7')
  program.write(ping(2))
  program.endInput()
  const { stdout, code } = await program.result()
  expect(code).toBe(0)
  const answers = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as object)
  expect(answers).toMatchObject([
    { id: null, error: { code: -32_600, message: expect.stringContaining('16 MiB') } },
    { id: null, error: { code: -32_700 } },
    { id: null, error: { code: -32_700 } },
    { id: 7, error: { code: -32_700 } },
    { id: 2, result: {} },
  ])
  await stop()
})
