import { expect, test } from 'vitest'
import { readServeOptions } from './serve-options.ts'

test('projects and origins can be given more than once', async () => {
  const args = [
    '--project',
    'a',
    '--port',
    '0',
    '--project=b',
    '--origin',
    'https://a.example',
    '--no-open',
    '--allow-env',
    'ONE,TWO',
  ]
  expect(await readServeOptions(args)).toEqual({
    projects: ['a', 'b'],
    publicOrigins: ['https://a.example'],
    allowEnv: ['ONE,TWO'],
    port: 0,
    host: undefined,
    exposed: undefined,
    tailscale: false,
    open: false,
    demo: false,
    json: false,
    leaveAgents: false,
  })
})

test('a proxy in front is said, not guessed', async () => {
  expect(await readServeOptions(['--expose', '--behind-proxy'])).toMatchObject({ exposed: { proxy: true } })
  expect(await readServeOptions(['--behind-proxy'])).toMatchObject({ exposed: undefined })
})

test('--expose tailscale names the way', async () => {
  for (const args of [['--expose', 'tailscale'], ['--expose=tailscale']])
    expect(await readServeOptions([...args, '--json'])).toMatchObject({
      ...{ tailscale: true, exposed: undefined, json: true },
    })
  const proxied = await readServeOptions(['--expose', '--behind-proxy', '--proxy-address', '10.0.0.2'])
  expect(proxied).toMatchObject({ tailscale: false, exposed: { proxy: true, address: '10.0.0.2' } })
})

test('memory for agents between turns is an amount or a share', async () => {
  expect(await readServeOptions(['--keep-memory', '2G'])).toMatchObject({ keepMemory: { bytes: 2 ** 31 } })
  expect(await readServeOptions(['--keep-memory=10%'])).toMatchObject({ keepMemory: { share: 0.1 } })
  expect((await readServeOptions([])).keepMemory).toBeUndefined()
})

test.each([
  [['--expose'], '--expose needs --tls-cert and --tls-key'],
  [['--expose', '--tls-cert', '/no/such/file', '--tls-key', '/no/such/file'], 'cannot be read'],
  [['--expose', 'lan'], '--expose takes "tailscale"'],
  [['--expose', 'tailscale', '--host', '0.0.0.0'], 'does not go together with --host'],
  [['--expose=tailscale', '--behind-proxy'], 'does not go together with --behind-proxy'],
  [['--port', '70000'], '--port must be a whole number'],
  [['--project'], '--project needs a value'],
  [['--project', '--json'], '--project needs a value'],
  [['--project='], '--project needs a value'],
  [['folder'], 'Projects are named with --project'],
  [['--keep-memory', '500'], '--keep-memory and CHIRALITY_KEEP_MEMORY take an amount (2G, 500M)'],
  [['--prot', '1'], 'Did you mean'],
])('%j is wrong usage', async (args, message) => {
  await expect(readServeOptions(args)).rejects.toThrow(message)
})
