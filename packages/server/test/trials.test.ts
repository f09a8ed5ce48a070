import type { ConformanceReport } from '@chirality/conformance'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry, MessagesApiHarness } from '@chirality/runner'
import { expect, test } from 'vitest'
import { startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

function harnesses(): HarnessRegistry<SessionHarness> {
  const registry = new HarnessRegistry<SessionHarness>()
  registry.register(new MessagesApiHarness({ environment: {} }))
  return registry
}

function report(harness: string, fields: Partial<ConformanceReport> = {}): ConformanceReport {
  return {
    ...{ harness, name: 'An agent', version: '1.2.3', at: '2026-01-01T00:00:00.000Z', durationMs: 5 },
    findings: [{ behaviour: 'text', outcome: 'supported', evidence: 'It came whole.' }],
    ...fields,
  }
}

test('trials run one at a time, and what the last one showed is kept', async () => {
  let end: (report: ConformanceReport) => void = () => {}
  const begun: string[] = []
  const server = await startTestServer({
    harnesses: harnesses(),
    tryAgent: harness => {
      begun.push(harness)
      return new Promise(resolve => {
        end = resolve
      })
    },
  })
  const { client } = connect(server)
  const [{ id = '' } = {}] = await client.harnesses.list.query()
  expect(await client.harnesses.trials.query()).toMatchObject({ running: null, reports: [] })
  const first = client.harnesses.tryOut.mutate({ harness: id })
  await expect.poll(async () => (await client.harnesses.trials.query()).running).toBe(id)
  await expect(client.harnesses.tryOut.mutate({ harness: id })).rejects.toMatchObject({
    data: { reason: 'busy' },
  })
  end(report(id))
  expect(await first).toEqual(report(id))
  const after = await client.harnesses.trials.query()
  expect(after).toMatchObject({ running: null, reports: [report(id)] })
  expect(after.behaviours.text).toMatch(/./)
  // What was refused showed nothing of the agent, so the result before stays.
  const second = client.harnesses.tryOut.mutate({ harness: id })
  await expect.poll(() => begun.length).toBe(2)
  end(report(id, { refused: 'It is too old.', findings: [] }))
  expect((await second).refused).toBe('It is too old.')
  expect((await client.harnesses.trials.query()).reports).toEqual([report(id)])
  await expect(client.harnesses.tryOut.mutate({ harness: 'nobody' })).rejects.toThrow(/nobody/)
})

test('a server that stops ends the trial; one that cannot try says so', async () => {
  let stopped = false
  const server = await startTestServer({
    harnesses: harnesses(),
    tryAgent: (_harness, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          stopped = true
          reject(signal.reason)
        })
      }),
  })
  const { client } = connect(server)
  const [{ id = '' } = {}] = await client.harnesses.list.query()
  const trial = client.harnesses.tryOut.mutate({ harness: id }).catch(() => 'ended')
  await expect.poll(async () => (await client.harnesses.trials.query()).running).toBe(id)
  await server.close()
  expect(stopped).toBe(true)
  void trial
  const other = connect(await startTestServer({ harnesses: harnesses() }))
  await expect(other.client.harnesses.tryOut.mutate({ harness: id })).rejects.toMatchObject({
    data: { reason: 'unsupported' },
  })
})
