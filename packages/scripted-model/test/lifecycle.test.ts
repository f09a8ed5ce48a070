import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startScriptedModel } from '../src/index.ts'
import { ask, events, streamedText } from './client.ts'

test('a script can come from a file', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'scripted-model-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = path.join(folder, 'script.yaml')
  await writeFile(file, 'answers:\n  - Hello from a file.\n')
  await using model = await startScriptedModel({ file })
  expect(streamedText(await events(ask(model)))).toBe('Hello from a file.')
})

test('a missing file and a wrong script are refused before anything listens', async () => {
  await expect(startScriptedModel({ file: '/nowhere/script.yaml' })).rejects.toThrow('/nowhere/script.yaml')
  const wrong = { answers: [{ blocks: [{ text: 'a' }, { tool: 7 }] }] }
  await expect(startScriptedModel(wrong as never)).rejects.toThrow(
    'script answers[0].blocks[1].tool: expected string',
  )
})

test.each(['0.0.0.0', '::', '192.168.0.1', 'example.com'])('the host %s is refused', async host => {
  await expect(startScriptedModel({}, { host })).rejects.toThrow('listens on loopback only')
})

test('the port is the one asked for, and a taken one is an error', async () => {
  const first = await startScriptedModel({})
  const { port } = first
  await expect(startScriptedModel({}, { port })).rejects.toThrow('EADDRINUSE')
  await first.close()
  const second = await startScriptedModel({}, { port })
  expect(second.url).toBe(`http://127.0.0.1:${port}`)
  expect(second.openaiUrl).toBe(`http://127.0.0.1:${port}/v1`)
  await second.close()
})

test('close() drops idle keep-alive sockets and stalled answers, and can be called again', async () => {
  const model = await startScriptedModel({ answers: ['a', { text: 'b', stallAfter: 0 }] })
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  await new Promise<void>((resolve, reject) => {
    request(model.url, { agent, method: 'HEAD' }, response => response.resume().once('end', resolve))
      .once('error', reject)
      .end()
  })
  await events(ask(model))
  const stalled = await ask(model)
  await model.waitForRequest(({ state }) => state === 'stalled')
  await model.close()
  await expect(stalled.text()).rejects.toThrow()
  await expect(ask(model)).rejects.toThrow()
  await model.close()
})

test('waitForRequest takes a count of answered requests or a condition, now or later', async () => {
  const model = await startScriptedModel({ answers: ['a', 'b'] })
  onTestFinished(() => model.close())
  const second = model.waitForRequest(2)
  await fetch(model.url, { method: 'HEAD' })
  await ask(model, { model: 'one' })
  await ask(model, { model: 'two' })
  expect((await second).body).toMatchObject({ model: 'two' })
  expect((await model.waitForRequest(1)).served).toBe('answers[0]')
  expect((await model.waitForRequest(({ method }) => method === 'HEAD')).path).toBe('/')
})

test('waitForRequest fails when the model is closed first', async () => {
  const model = await startScriptedModel({})
  const waiting = model.waitForRequest(1)
  const [outcome] = await Promise.allSettled([waiting, model.close()])
  expect(outcome).toMatchObject({
    status: 'rejected',
    reason: { message: expect.stringContaining('closed') },
  })
})

test('a delay waits, and ends when the client leaves', async () => {
  const model = await startScriptedModel({
    answers: [
      { text: 'ab', delayMs: 5, chunkDelayMs: 5, chunkChars: 1 },
      { text: 'b', delayMs: 3_600_000 },
    ],
  })
  onTestFinished(() => model.close())
  const before = performance.now()
  expect(streamedText(await events(ask(model)))).toBe('ab')
  expect(performance.now() - before).toBeGreaterThanOrEqual(12)
  const leave = new AbortController()
  const late = ask(model, {}, { signal: leave.signal })
  await model.waitForRequest(2)
  leave.abort()
  await expect(late).rejects.toThrow()
  await model.waitForRequest(({ state }) => state === 'left')
})
