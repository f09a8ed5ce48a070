import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { cleanHome, initRepository } from '@chirality/fixtures'
import { sharedBundle } from '@chirality/fixtures/bundle-program'
import { startScriptedModel } from '@chirality/scripted-model'
import { expect, onTestFinished, test } from 'vitest'
import type { FewFilesOptions } from './programs/few-files-server.ts'

test('a server that is left with few file descriptors at any moment lives, and works as soon as there are some', async () => {
  const model = await startScriptedModel({ answers: [], otherwise: { text: 'Done.' } })
  const { home, project, env, dispose } = await cleanHome(model)
  onTestFinished(async () => {
    await model.close()
    await dispose()
  })
  const repository = initRepository(project)
  repository.write('a.txt', 'a\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  const options: FewFilesOptions = { project, home: path.join(home, 'chirality'), environment: env }
  // Few files to load: the limit is for the server, and not for its start.
  const program = await sharedBundle(path.join(import.meta.dirname, 'programs/few-files-server.ts'))
  const node = [process.execPath, program]
  const limited = ['-c', 'ulimit -n 128 && exec "$@"', 'sh', ...node, JSON.stringify(options)]
  const child = spawn('/bin/sh', limited, { stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    said += text
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const heard = async () => JSON.parse((await lines.next()).value ?? JSON.stringify(`ended: ${said}`))
  const { url, token } = await heard()
  const call = async (name: string, input: object) => {
    const response = await fetch(`${url}/trpc/${name}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(input),
    })
    return (await response.json()).result?.data
  }
  const ask = (name: string, input: object) =>
    fetch(`${url}/trpc/${name}?input=${encodeURIComponent(JSON.stringify(input))}`, {
      headers: { authorization: `Bearer ${token}` },
    }).then(async response => (await response.json()).result?.data)
  const begin = async () => {
    const { id } = await call('sessions.create', { project, harness: 'messages-api' })
    await call('turns.start', { sessionId: id, message: 'Go.' })
    return id as string
  }
  const lastTurn = async (sessionId: string) =>
    String((await ask('sessions.get', { sessionId }))?.lastTurn ?? '')
  for (const left of [0, 1, 2, 4, 8]) {
    const begun = await begin()
    child.stdin.write(`${left}\n`)
    expect(await heard()).toBe('few')
    // They may fail.
    const tries = [
      ...Array.from({ length: 4 }, () => begin()),
      ...['files.status', 'files.changes', 'loops.list'].map(name => ask(name, { project })),
      ...['sessions.list', 'trust.get', 'workspaces.list'].map(name => ask(name, { project })),
      fetch(`${url}/healthz`),
    ].map(tried => tried.catch(() => undefined))
    await Promise.race([
      Promise.all(tries),
      once(child, 'exit'),
      new Promise(done => setTimeout(done, 3_000)),
    ])
    child.stdin.write('\n')
    expect(await heard()).toBe('free')
    await Promise.all(tries)
    // Connections that were kept for more requests may be closed.
    const status = () => fetch(`${url}/healthz`).then(({ status }) => status, String)
    await expect.poll(status).toBe(200)
    const next = await begin()
    for (const sessionId of [begun, next])
      await expect.poll(() => lastTurn(sessionId), { timeout: 100_000 }).toMatch(/\w/)
    expect(await lastTurn(next)).toBe('completed')
  }
}, 3_600_000)
