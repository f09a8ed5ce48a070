import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refreshBroker } from '../src/engine/broker.ts'
import { reloadBroker } from '../src/engine/broker-process.ts'
import { brokerFolder } from '../src/engine/fleet-files.ts'
import type { Link } from '../src/engine/link.ts'
import { answerCalls, askMove, callMachine, pingMachine } from '../src/rpc/calls.ts'
import { connect, joined, later, NO_WORK, startFleet } from './support/fleet.ts'

/** A call whose answer takes longer than the hub waits at first. */
const FIRST = { firstMs: 200 }

async function fleetOfTwo() {
  const fleet = await startFleet()
  const hub = await connect(fleet.hub)
  const { member } = await joined(fleet, hub)
  return { fleet, hub, worker: await connect(member) }
}

/** Once the hub reaches it: the broker hears of a machine that answers on another connection than the hub's. */
async function answering(
  { hub, worker }: { hub: Link; worker: Link },
  call: () => Promise<unknown>,
  move: () => Promise<unknown> = async () => undefined,
): Promise<() => void> {
  const stop = answerCalls(worker, 'worker', {
    ...{ call, bytes: () => Buffer.alloc(0), work: NO_WORK, spent: () => {} },
    moves: { answer: move, bytes: async () => Buffer.alloc(0), close: async () => {} },
  })
  later(stop)
  await expect.poll(() => pingMachine(hub, 'worker')).toBe(true)
  return stop
}

/** A call that was taken, and what ends it. */
function slowCall() {
  let end: (answer: string) => void = () => {}
  let take: () => void = () => {}
  const answer = new Promise<string>(resolve => {
    end = resolve
  })
  const taken = new Promise<void>(resolve => {
    take = resolve
  })
  let times = 0
  const call = () => {
    times += 1
    take()
    return answer
  }
  return { call, end, taken, times: () => times }
}

test('a call that takes long is made once, and its outcome comes when it is there', async () => {
  const { hub, worker } = await fleetOfTwo()
  const { call, end, times } = slowCall()
  await answering({ hub, worker }, call)
  const asked: string[] = []
  const counted = {
    connected: true,
    request: (subject: string, body: Uint8Array, timeout: number) => {
      const { kind } = JSON.parse(Buffer.from(body).toString()) as { kind: string }
      asked.push(kind)
      if (kind === 'outcome') end('pushed')
      return hub.request(subject, body, timeout)
    },
  } as unknown as Link
  expect(await callMachine(counted, 'worker', { path: 'review.push', input: {} }, FIRST)).toBe('pushed')
  expect(asked).toEqual(['call', 'outcome'])
  expect(times()).toBe(1)
})

test('a machine that is gone or was started again after it took a call does not say that nothing was done', async () => {
  const { hub, worker } = await fleetOfTwo()
  for (const isStartedAgain of [false, true]) {
    const { call, taken, times } = slowCall()
    const stop = await answering({ hub, worker }, call)
    const pushed = callMachine(hub, 'worker', { path: 'review.push', input: {} }, FIRST)
    const refused = expect(pushed).rejects.toMatchObject({
      ...{ code: 'machine-silent', message: expect.stringContaining('It may have done it') },
    })
    await taken
    stop()
    if (isStartedAgain) await answering({ hub, worker }, call)
    await refused
    expect(times()).toBe(1)
  }
})

test('a step of a move whose answer the broker dropped, because it read its keys meanwhile, is made once and has its outcome', async () => {
  const { fleet, hub, worker } = await fleetOfTwo()
  const { call, end, taken, times } = slowCall()
  await answering({ hub, worker }, async () => undefined, call)
  const asked: string[] = []
  const watched = {
    connected: true,
    request: async (subject: string, body: Uint8Array, timeout: number) => {
      const { kind } = JSON.parse(Buffer.from(body).toString()) as { kind: string }
      asked.push(kind)
      const answer = await hub.request(subject, body, timeout)
      asked.push(answer.kind)
      return answer
    },
  } as unknown as Link
  const about = askMove(watched, 'worker', { step: 'about', session: 's' })
  await taken
  const log = join(brokerFolder(fleet.home), 'nats.log')
  const reads = () => readFileSync(log, 'utf8').split('Reloaded server configuration').length
  const before = reads()
  await refreshBroker(fleet.home)
  await reloadBroker(fleet.home)
  await expect.poll(reads).toBeGreaterThan(before)
  end('a session')
  expect(await about).toBe('a session')
  expect(asked).toEqual(['move', 'silent', 'outcome', 'answer'])
  expect(times()).toBe(1)
})

test('what is too large for the broker is refused before anything is sent', async () => {
  const { hub, worker } = await fleetOfTwo()
  const { call, times } = slowCall()
  await answering({ hub, worker }, call)
  const input = { message: 'x'.repeat(8 * 1024 * 1024) }
  await expect(callMachine(hub, 'worker', { path: 'turns.send', input })).rejects.toMatchObject({
    ...{ code: 'unsupported', message: expect.stringContaining('Nothing was done') },
  })
  expect(times()).toBe(0)
})
