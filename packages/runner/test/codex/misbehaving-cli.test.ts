import { existsSync } from 'node:fs'
import type { HarnessTurnOpts, UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { collect, collectAnd, expectOneEnd, ofType, statuses } from './support/events.ts'
import { type HarnessOptions, useWorld } from './support/world.ts'

const world = useWorld()

const isDelta = (event: UIEvent) => event.type === 'chat:delta'

const warnings = (events: UIEvent[]) => ofType(events, 'status').filter(({ level }) => level === 'warn')

function start(way: string, options: HarnessOptions = {}, opts: HarnessTurnOpts = {}) {
  const harness = world.harness({ ...options, binaryPath: world.fake('fake-codex', way) })
  const session = world.session()
  return { harness, session, events: harness.startTurn(session, 'Hi', opts) }
}

describe('an app-server that', () => {
  test.each([
    { way: 'missing', options: {}, says: "unrecognized subcommand 'app-server'" },
    { way: 'rude', options: {}, says: 'did not answer' },
    { way: 'mute', options: { handshakeMs: 1 }, says: 'did not answer' },
  ])('is $way gives way to exec, and the log says why', async ({ way, options, says }) => {
    const events = await collect(start(way, options).events)
    expect(expectOneEnd(events, 'exec')).toEqual({ reason: 'completed' })
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'From exec.' }])
    expect(world.logs).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        event: 'app-server:missing',
        data: { error: expect.stringContaining(says) },
      }),
    )
  })

  test.each([
    { permissionMode: 'default', sandbox: 'read-only' },
    { permissionMode: 'acceptEdits', sandbox: 'workspace-write' },
    { permissionMode: 'plan', sandbox: 'read-only' },
  ] as const)(
    'is missing, where somebody is to be asked in $permissionMode: $sandbox, and it is told',
    async row => {
      const { permissionMode, sandbox } = row
      const decide = () => Promise.reject(new Error('exec asks nobody'))
      const events = await collect(start('missing', {}, { permissionMode, decide }).events)
      expect(expectOneEnd(events, 'exec')).toEqual({ reason: 'completed' })
      expect(warnings(events)).toMatchObject([
        { message: expect.stringContaining('ask nobody'), data: { sandbox } },
      ])
      const [command] = world.logs.filter(
        ({ event, data }) => event === 'process:spawn' && JSON.stringify(data).includes('"exec"'),
      )
      expect(JSON.stringify(command)).toContain(`"-s","${sandbox}"`)
    },
  )

  test('is missing needs no word about it where nobody is to be asked', async () => {
    const events = await collect(start('missing', {}, { permissionMode: 'default' }).events)
    expect(warnings(events)).toEqual([])
  })

  test('is missing is an error for who wants no other', async () => {
    const { events, harness, session } = start('missing', { voice: 'app-server' })
    await expect(events.next()).rejects.toMatchObject({
      code: 'process_crashed',
      message: expect.stringContaining('unrecognized subcommand'),
    })
    expect(harness.isRunning(session.id)).toBe(false)
  })

  test('dies in a turn ends it once; the next turn works', async () => {
    const { harness, session, events } = start('dies-once')
    const all = await collect(events)
    expect(expectOneEnd(all, 'app-server')).toEqual({ reason: 'crashed' })
    expect(ofType(all, 'session:error')).toMatchObject([{ code: 'process_crashed' }])
    expect(ofType(all, 'chat:delta')).toMatchObject([{ text: 'So far.' }])
    const next = await collect(harness.startTurn(session, 'Again'))
    expect(expectOneEnd(next, 'app-server')).toEqual({ reason: 'completed' })
  })

  test('says what nobody knows is shown as it is', async () => {
    const events = await collect(start('unknown').events)
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'completed' })
    expect(ofType(events, 'native:unknown')).toMatchObject([
      { harness: 'codex', nativeType: 'from/the/future', raw: { params: { value: 1 } } },
    ])
  })

  test('says what nobody knows of no thread: it may be about another session, so the log has it', async () => {
    const events = await collect(start('unknown-of-process').events)
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'completed' })
    expect(ofType(events, 'native:unknown')).toEqual([])
    const unheard = world.logs.filter(({ event }) => event === 'app-server:unheard')
    expect(unheard).toMatchObject([{ level: 'warn', data: { method: 'from/the/future' } }])
  })

  test('does not answer is not waited for again in the next turn', async () => {
    const harness = world.harness({ handshakeMs: 1, binaryPath: world.fake('fake-codex', 'mute') })
    for (const message of ['One', 'Two'])
      expect(expectOneEnd(await collect(harness.startTurn(world.session(), message)), 'exec')).toEqual({
        reason: 'completed',
      })
    const starts = world.logs.flatMap(({ event, data }) =>
      event === 'process:spawn' ? [JSON.stringify(data).includes('"exec"') ? 'exec' : 'app-server'] : [],
    )
    expect(starts).toEqual(['app-server', 'exec', 'exec'])
  })

  test('prints what is no message goes on, and the log has it', async () => {
    const events = await collect(start('garbage').events)
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'completed' })
    const noise = world.logs.flatMap(({ event, data }) => (event === 'app-server:noise' ? [data?.text] : []))
    expect(noise).toEqual(['not JSON', '[1]', '{"neither":"nor"}'])
  })

  test('asks what nobody knows: it is shown, asked, and answered with a no', async () => {
    const requests: string[] = []
    const decide: HarnessTurnOpts['decide'] = async ({ kind, toolName }) => {
      requests.push(`${kind} ${toolName}`)
      return { behavior: 'allow' }
    }
    const events = await collect(start('asks:item/newKind/request', {}, { decide }).events)
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'completed' })
    expect(requests).toEqual(['unknown item/newKind/request'])
    expect(ofType(events, 'permission:request')).toMatchObject([
      { kind: 'unknown', raw: { method: 'item/newKind/request' } },
    ])
    expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'denied' }])
    expect(ofType(events, 'chat:complete')[0]?.text).toContain('Chirality cannot answer item/newKind/request')
  })

  test.each(['asks:item/tool/call', 'asks:attestation/generate', 'asks-nobody'])(
    'asks what no person can answer (%s) is not left waiting',
    async way => {
      const events = await collect(start(way).events)
      expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'completed' })
      expect(ofType(events, 'permission:request')).toEqual([])
      expect(ofType(events, 'chat:complete')[0]?.text).toContain('-32000')
    },
  )

  test('asks after the turn is refused at once, and nobody is shown it', async () => {
    const asked: string[] = []
    const decide: HarnessTurnOpts['decide'] = async ({ toolName }) => {
      asked.push(toolName)
      return { behavior: 'allow' }
    }
    const binaryPath = world.fake('fake-codex', 'asks-late')
    const harness = world.harness({ binaryPath })
    const session = world.session()
    const first = await collect(harness.startTurn(session, 'Hi', { decide }))
    // What is asked may come a moment after the end: the next turn begins when it is answered.
    await expect.poll(() => existsSync(`${binaryPath}.answered`), { timeout: 30_000 }).toBe(true)
    session.claudeSessionId = ofType(first, 'session:init')[0]?.claudeSessionId ?? null
    const second = await collect(harness.startTurn(session, 'Again', { decide }))
    expect(ofType(second, 'chat:complete')[0]?.text).toContain('-32000')
    expect([...ofType(first, 'permission:request'), ...ofType(second, 'permission:request')]).toEqual([])
    expect(asked).toEqual([])
  })

  test('refuses the turn fails it in its own words', async () => {
    const { events } = start('refuses')
    const all = await collect(events)
    expect(expectOneEnd(all, 'app-server')).toEqual({ reason: 'failed' })
    expect(ofType(all, 'session:error')).toMatchObject([{ error: expect.stringContaining('no turns today') }])
  })

  test('does not heed an interrupt is ended', async () => {
    const { harness, session, events } = start('deaf', { stop: { interruptGraceMs: 1 } })
    const all = await collectAnd(events, isDelta, () => harness.interrupt(session.id))
    expect(expectOneEnd(all, 'app-server')).toEqual({ reason: 'interrupted' })
    expect(ofType(all, 'session:error')).toMatchObject([{ code: 'interrupted' }])
  })

  test('does not heed an interrupt is ended when the loop is left, too', async () => {
    const { harness, session, events } = start('deaf', { stop: { interruptGraceMs: 1 } })
    for await (const event of events) if (isDelta(event)) break
    expect(harness.isRunning(session.id)).toBe(false)
  })

  test('is silent is told of, but not while a person is asked', async () => {
    const { harness, session, events } = start('hangs', {}, { stallMs: 5 })
    const isStalled = (event: UIEvent) => event.type === 'status' && event.status === 'stalled'
    const all = await collectAnd(events, isStalled, () => harness.interrupt(session.id))
    expect(expectOneEnd(all, 'app-server')).toEqual({ reason: 'interrupted' })

    const decide: HarnessTurnOpts['decide'] = async () => {
      // Many times the silence that would be told.
      await new Promise(resolve => setTimeout(resolve, 100))
      return { behavior: 'deny' }
    }
    const asked = await collect(start('asks:item/newKind/request', {}, { stallMs: 5, decide }).events)
    const order = asked.map(event => (event.type === 'status' ? event.status : event.type))
    expect(order[order.indexOf('permission:request') + 1]).toBe('permission:resolved')
  })

  test('has a log that throws does not lose the turn', async () => {
    const onLog = () => {
      throw new Error('the disk is full')
    }
    const events = await collect(start('fine', { onLog }).events)
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'completed' })
  })
})

describe('an exec that', () => {
  test('says what nobody knows is shown as it is', async () => {
    const events = await collect(start('unknown', { voice: 'exec' }).events)
    expect(expectOneEnd(events, 'exec')).toEqual({ reason: 'completed' })
    expect(ofType(events, 'native:unknown')).toMatchObject([
      { harness: 'codex', nativeType: 'from.the.future' },
    ])
  })

  test('prints what is no JSON shows it', async () => {
    const events = await collect(start('garbage', { voice: 'exec' }).events)
    expect(expectOneEnd(events, 'exec')).toEqual({ reason: 'completed' })
    expect(ofType(events, 'native:unknown')).toMatchObject([{ nativeType: 'malformed' }])
  })

  test('answers and does not exit is ended; the answer counts', async () => {
    const events = await collect(start('lingers', { voice: 'exec', lingerMs: 10 }).events)
    expect(expectOneEnd(events, 'exec')).toEqual({ reason: 'completed' })
    expect(statuses(events, 'cleanup')).toHaveLength(1)
  })
})
