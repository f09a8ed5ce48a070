import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refreshBroker } from '../src/engine/broker.ts'
import { reloadBroker } from '../src/engine/broker-process.ts'
import { brokerFolder } from '../src/engine/fleet-files.ts'
import type { Link } from '../src/engine/link.ts'
import { answerCalls, askMove, callMachine, pingMachine } from '../src/rpc/calls.ts'
import type { MoveStep } from '../src/rpc/protocol.ts'
import { subjects } from '../src/subjects.ts'
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
  move: (step: MoveStep) => Promise<unknown> = async () => undefined,
): Promise<() => void> {
  const stop = answerCalls(worker, 'worker', {
    call,
    bytes: () => Buffer.alloc(0),
    work: NO_WORK,
    spent: () => {},
    moves: { answer: move, bytes: async () => Buffer.alloc(0), close: async () => {} },
  })
  later(stop)
  await expect.poll(() => pingMachine(hub, 'worker')).toBe(true)
  return stop
}

function answerIn(answer: Awaited<ReturnType<Link['request']>>): unknown {
  return answer.kind === 'answer' ? JSON.parse(Buffer.from(answer.body).toString()) : answer.kind
}

/** A hub that asks for outcomes only when it is let. */
function holdingOutcomes(hub: Link) {
  const asked: string[] = []
  let letOutcomes: () => void = () => {}
  const isLet = new Promise<void>(resolve => {
    letOutcomes = resolve
  })
  const request = async (subject: string, body: Uint8Array, timeout: number) => {
    const { kind } = JSON.parse(Buffer.from(body).toString()) as { kind: string }
    asked.push(kind)
    if (kind === 'outcome') await isLet
    const answer = await hub.request(subject, body, timeout)
    asked.push(answer.kind)
    return answer
  }
  return { link: { connected: true, request } as unknown as Link, asked, letOutcomes }
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
      code: 'machine-silent',
      message: expect.stringContaining('It may have done it'),
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
  const { link, asked, letOutcomes } = holdingOutcomes(hub)
  const about = askMove(link, 'worker', { step: 'about', session: 's' }, FIRST)
  await taken
  const log = join(brokerFolder(fleet.home), 'nats.log')
  const reads = () => readFileSync(log, 'utf8').split('Reloaded server configuration').length
  const before = reads()
  await refreshBroker(fleet.home)
  await reloadBroker(fleet.home)
  await expect.poll(reads).toBeGreaterThan(before)
  end('a session')
  letOutcomes()
  expect(await about).toBe('a session')
  // The answer to the step itself never came.
  expect(asked).toEqual(['move', 'outcome', 'answer'])
  expect(times()).toBe(1)
})

test('the steps of many moves do not push out the outcome of a call, and a piece of a session is sent again', async () => {
  const { hub, worker } = await fleetOfTwo()
  const steps = new Map<string, number>()
  const move = async ({ step }: MoveStep) => {
    steps.set(step, (steps.get(step) ?? 0) + 1)
  }
  await answering({ hub, worker }, async () => 'started', move)
  const call = { kind: 'call', id: 'a call', path: 'turns.start', input: {} }
  const send = (request: object) =>
    hub.request(subjects.calls('worker'), Buffer.from(JSON.stringify(request)), 10_000)
  await send(call)
  for (let at = 0; at < 1_100; at += 1) await send({ kind: 'move', id: `step ${at}`, step: 'leaving' })
  expect(answerIn(await send({ kind: 'outcome', id: 'a call' }))).toEqual({ ok: true, data: 'started' })

  const put: MoveStep = { step: 'put', move: 'move-0123456789ab', from: 0, content: '' }
  let lost = 1
  const losing = {
    connected: true,
    request: async (...asked: Parameters<Link['request']>) => {
      const answer = await hub.request(...asked)
      lost -= 1
      return lost < 0 ? answer : { kind: 'silent' }
    },
  } as unknown as Link
  await askMove(losing, 'worker', put)
  expect(steps.get('put')).toBe(2)
})

test('a machine of an earlier version, which remembers no steps of moves, is waited for', async () => {
  const { hub, worker } = await fleetOfTwo()
  const { call, end, times } = slowCall()
  const unknown = { ok: false, code: 'machine-silent', message: 'The machine does not know this call.' }
  const stop = worker.serve(subjects.calls('worker'), async body => {
    const { kind } = JSON.parse(Buffer.from(body).toString()) as { kind: string }
    if (kind === 'ping') return Buffer.from('{}')
    if (kind === 'move') return Buffer.from(JSON.stringify({ ok: true, data: await call() }))
    // The step may end as soon as the hub has this answer.
    setImmediate(() => end('a session'))
    return Buffer.from(JSON.stringify(unknown))
  })
  later(async () => stop())
  await expect.poll(() => pingMachine(hub, 'worker')).toBe(true)
  expect(await askMove(hub, 'worker', { step: 'about', session: 's' }, FIRST)).toBe('a session')
  expect(times()).toBe(1)
})

test('a machine that was started again in a step of a move says so at once', async () => {
  const { hub, worker } = await fleetOfTwo()
  const { call, taken } = slowCall()
  const stop = await answering({ hub, worker }, async () => undefined, call)
  const { link, letOutcomes } = holdingOutcomes(hub)
  const asked = askMove(link, 'worker', { step: 'about', session: 's' }, FIRST)
  const refused = expect(asked).rejects.toMatchObject({
    code: 'machine-silent',
    message: expect.stringContaining('started again'),
  })
  await taken
  stop()
  await answering({ hub, worker }, async () => undefined)
  letOutcomes()
  await refused
})

test('a request that is too large for the broker is refused before anything is sent', async () => {
  const { hub, worker } = await fleetOfTwo()
  const { call, times } = slowCall()
  await answering({ hub, worker }, call)
  const input = { message: 'x'.repeat(8 * 1024 * 1024) }
  await expect(callMachine(hub, 'worker', { path: 'turns.send', input })).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('Nothing was done'),
  })
  expect(times()).toBe(0)
})
