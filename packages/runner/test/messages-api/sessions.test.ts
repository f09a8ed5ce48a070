import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Session } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { MessagesApiHarness } from '../../src/messages-api/harness.ts'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { openFiles } from '../support/open-files.ts'
import { collect, collectAnd, fileAppears, ofType, statuses } from '../support/turns.ts'
import { endOf, releaseStalled, sentMessages, turnOf, useApiWorld } from './support/world.ts'

const world = useApiWorld()

describe('a conversation', () => {
  test('goes on in another harness, with everything that was said and done', async () => {
    const { harness, model } = await world.open({
      answers: [{ thinking: 'Hm.', tool: 'list', input: {}, id: 'c1' }, 'First.', 'Second.'],
    })
    const session = world.session()
    await turnOf(harness, session, 'remember the word zebra')
    const nativeId = session.claudeSessionId
    await harness.close()
    const other = new MessagesApiHarness({ environment: world.environment(model) })
    const events = await turnOf(other, session, 'and now?', { systemPromptAppend: 'walk on tiptoe' })
    expect(endOf(events)).toBe('completed')
    expect(session.claudeSessionId).toBe(nativeId)
    expect(
      sentMessages(model).map(({ role, content }) => [role, ...content.map(({ type }) => type)]),
    ).toEqual([
      ['user', 'text'],
      ['assistant', 'thinking', 'tool_use'],
      ['user', 'tool_result'],
      ['assistant', 'text'],
      ['user', 'text'],
    ])
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('walk on tiptoe')
  })

  test('forks: the same past, another id, the old one untouched', async () => {
    const { harness, model } = await world.open({ answers: ['First.', 'Forked.', 'Original.'] })
    const session = world.session()
    await turnOf(harness, session, 'zebra')
    const fork = world.session({ claudeSessionId: session.claudeSessionId })
    await turnOf(harness, fork, 'walrus', { forkSession: true })
    expect(fork.claudeSessionId).not.toBe(session.claudeSessionId)
    expect(JSON.stringify(sentMessages(model))).toContain('zebra')
    await turnOf(harness, session, 'more')
    expect(JSON.stringify(sentMessages(model))).not.toContain('walrus')
  })

  test.each(['11111111-1111-4111-8111-111111111111', '../../../etc/passwd', 'a/b', ''])(
    'that is lost is told, and begun afresh: %j',
    async lostId => {
      const { harness } = await world.open({ answers: ['A new start.'] })
      const events = await turnOf(harness, world.session({ claudeSessionId: lostId }), 'Are you there?')
      expect(ofType(events, 'session:error')).toMatchObject([{ code: 'session_not_found', recovered: true }])
      expect(statuses(events, 'resume_failed')).toHaveLength(1)
      expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'A new start.' }])
      expect(endOf(events)).toBe('completed')
    },
  )

  test('has the id that was wished for, if it is free', async () => {
    const { harness } = await world.open({ answers: ['One.', 'Two.', 'Three.'] })
    const newSessionId = '22222222-2222-4222-8222-222222222222'
    const [first, second, third] = [world.session(), world.session(), world.session()]
    await turnOf(harness, first, 'Go', { newSessionId })
    expect(first.claudeSessionId).toBe(newSessionId)
    await turnOf(harness, second, 'Go', { newSessionId })
    expect(second.claudeSessionId).not.toBe(newSessionId)
    await turnOf(harness, third, 'Go', { newSessionId: '../escape' })
    expect(third.claudeSessionId).not.toContain('escape')
  })

  test('survives a crash in the middle of a call, and of a line', async () => {
    const { harness, model } = await world.open({ answers: ['First.', 'After the crash.', 'Later.'] })
    const session = world.session()
    await turnOf(harness, session, 'Go')
    const call = { type: 'tool_use', id: 'lost', name: 'list', input: {} }
    const lost = JSON.stringify({ role: 'assistant', content: [call] })
    appendFileSync(
      transcript(session),
      `${JSON.stringify({ role: 'user', content: 'x' })}\n${lost}\n{"role":"user","con`,
    )
    await turnOf(harness, session, 'What now?')
    const answered = { type: 'tool_result', tool_use_id: 'lost', is_error: true }
    expect(sentMessages(model).at(-1)?.content).toMatchObject([
      answered,
      { type: 'text', text: expect.stringContaining('What now?') },
    ])
    await turnOf(harness, session, 'And later?')
    const ids = sentMessages(model).flatMap(({ content }) =>
      content.flatMap(({ tool_use_id }) => tool_use_id ?? []),
    )
    expect(ids).toEqual(['lost'])
  })

  test('survives lines that are no messages', async () => {
    const { harness, model } = await world.open({ answers: ['First.', 'Second.'] })
    const session = world.session()
    await turnOf(harness, session, 'zebra')
    const orphan = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'nobody', content: 'x' }] }
    appendFileSync(transcript(session), `null\n7\n{"role":"system"}\nnot json\n${JSON.stringify(orphan)}\n`)
    expect(endOf(await turnOf(harness, session, 'Go'))).toBe('completed')
    expect(JSON.stringify(sentMessages(model))).not.toContain('nobody')
  })

  test('has one turn at a time, whichever session asks', async () => {
    const { harness, model } = await world.open({ answers: ['First.', { text: 'x', stallAfter: 'nothing' }] })
    const session = world.session()
    await turnOf(harness, session, 'Go')
    const running = turnOf(harness, session, 'Wait')
    await model.waitForRequest(({ state }) => state === 'stalled')
    await expect(turnOf(harness, session, 'Me too')).rejects.toMatchObject({ code: 'busy' })
    const twin = world.session({ claudeSessionId: session.claudeSessionId })
    await expect(turnOf(harness, twin, 'Me too')).rejects.toMatchObject({ code: 'busy' })
    harness.interrupt(session.id)
    expect(endOf(await running)).toBe('interrupted')
  })

  test('its transcript is readable by its owner only', async () => {
    const { harness } = await world.open({ answers: ['First.'] })
    const session = world.session()
    await turnOf(harness, session, 'Go')
    expect(statSync(transcript(session)).mode & 0o777).toBe(0o600)
    expect(statSync(path.dirname(transcript(session))).mode & 0o777).toBe(0o700)
    expect(readFileSync(path.join(world.project, '.chirality', '.gitignore'), 'utf8')).toBe('*\n')
  })
})

describe('stopping', () => {
  test('before the answer begins', async () => {
    const { harness, model } = await world.open({ answers: [{ text: 'x', stallAfter: 'nothing' }, 'Back.'] })
    const session = world.session()
    const running = turnOf(harness, session, 'Go')
    await model.waitForRequest(({ state }) => state === 'stalled')
    harness.interrupt(session.id)
    const events = await running
    expect(endOf(events)).toBe('interrupted')
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'interrupted', error: 'The turn was stopped.' },
    ])
    expect(ofType(await turnOf(harness, session, 'Again'), 'chat:complete')).toMatchObject([
      { text: 'Back.' },
    ])
  })

  test('in the middle of a text, which stays as far as it came, and costs', async () => {
    const { harness, model } = await world.open({
      answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2, usage: { input: 1000 } }, 'Back.'],
    })
    const session = world.session()
    const events = await collectAnd(
      harness.startTurn(session, 'Count'),
      event => event.type === 'chat:delta' && event.text === 'two ',
      () => harness.interrupt(session.id),
    )
    expect(endOf(events)).toBe('interrupted')
    expect(ofType(events, 'chat:message')).toMatchObject([{ text: 'one two ', aborted: true }])
    expect(ofType(events, 'session:error')[0]?.costUsd).toBeGreaterThan(0)
    session.claudeSessionId = ofType(events, 'session:init')[0]?.claudeSessionId ?? null
    await turnOf(harness, session, 'Go on')
    expect(sentMessages(model)[1]).toMatchObject({ role: 'assistant', content: [{ text: 'one two ' }] })
  })

  test('in the middle of a call that is being written: it does not run', async () => {
    const { harness, model } = await world.open({
      answers: [
        {
          tool: 'write',
          input: { file_path: 'a.txt', content: 'x'.repeat(100) },
          chunkChars: 8,
          stallAfter: 3,
        },
        'Back.',
      ],
    })
    const session = world.session()
    const events = await collectAnd(
      harness.startTurn(session, 'Go', { permissionMode: 'bypassPermissions' }),
      event => event.type === 'tool:input',
      () => harness.interrupt(session.id),
    )
    expect(endOf(events)).toBe('interrupted')
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: true }])
    expect(existsSync(path.join(world.project, 'a.txt'))).toBe(false)
    session.claudeSessionId = ofType(events, 'session:init')[0]?.claudeSessionId ?? null
    await turnOf(harness, session, 'Again')
    expect(sentMessages(model).map(({ role }) => role)).toEqual(['user', 'user'])
  })

  test.each(['interrupt', 'kill'] as const)(
    'in the middle of a command, with %s: nothing is left',
    async how => {
      const started = path.join(world.project, 'started')
      const command = `sh -c 'sleep 600 & touch ${started}; sleep 600'`
      const blocks = [
        { tool: 'bash', input: { command }, id: 'c1' },
        { tool: 'list', input: {}, id: 'c2' },
      ]
      const { harness, model } = await world.open({ answers: [{ blocks }, 'Back.'] })
      const session = world.session()
      const running = turnOf(harness, session, 'Go', { permissionMode: 'bypassPermissions' })
      await fileAppears(started)
      harness[how](session.id)
      const events = await running
      expect(endOf(events)).toBe(how === 'kill' ? 'killed' : 'interrupted')
      expect(ofType(events, 'tool:result').map(({ isError }) => isError)).toEqual([true, true])
      expect(await findByMarker(world.marker)).toEqual([])
      await turnOf(harness, session, 'Again')
      expect(sentMessages(model)[2]?.content).toMatchObject([
        { tool_use_id: 'c1', is_error: true },
        { tool_use_id: 'c2', is_error: true },
      ])
    },
  )

  test('during the pause before a retry', async () => {
    const { harness } = await world.open({ answers: [{ error: { status: 529, retryAfterSeconds: 200 } }] })
    const session = world.session()
    const events = await collectAnd(
      harness.startTurn(session, 'Go'),
      event => event.type === 'status' && event.status === 'retrying',
      () => harness.interrupt(session.id),
    )
    expect(endOf(events)).toBe('interrupted')
  })

  test('by a signal: before the start, and by its time', async () => {
    const { harness, model } = await world.open({ answers: [{ text: 'x', stallAfter: 0 }] })
    const early = await turnOf(harness, world.session(), 'Go', { signal: AbortSignal.abort() })
    expect(endOf(early)).toBe('interrupted')
    expect(model.requests).toEqual([])
    const stop = new AbortController()
    const running = turnOf(harness, world.session(), 'Go', { signal: stop.signal })
    await model.waitForRequest(({ state }) => state === 'stalled')
    stop.abort(new DOMException('too long', 'TimeoutError'))
    const events = await running
    expect(endOf(events)).toBe('timeout')
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'timeout' }])
  })

  test('by leaving the loop', async () => {
    const started = path.join(world.project, 'started')
    const command = `touch ${started}; sleep 600`
    const { harness } = await world.open({ answers: [{ tool: 'bash', input: { command } }] })
    const session = world.session()
    for await (const event of harness.startTurn(session, 'Go', { permissionMode: 'bypassPermissions' })) {
      if (event.type !== 'tool:start') continue
      await fileAppears(started)
      break
    }
    expect(harness.isRunning(session.id)).toBe(false)
    expect(await findByMarker(world.marker)).toEqual([])
  })

  test('by closing the harness', async () => {
    const { harness, model } = await world.open({ answers: [{ text: 'x', stallAfter: 0 }] })
    const session = world.session()
    const running = turnOf(harness, session, 'Go')
    await model.waitForRequest(({ state }) => state === 'stalled')
    await harness.close()
    expect(endOf(await running)).toBe('killed')
    expect(harness.isRunning(session.id)).toBe(false)
  })

  test.each(['kill', 'close'] as const)(
    'by %s, with nobody reading: all of it ends, and who reads on hears so',
    async how => {
      const started = path.join(world.project, 'started')
      const { harness } = await world.open({
        answers: [{ tool: 'bash', input: { command: `touch ${started}; sleep 600` } }],
      })
      const session = world.session()
      const turn = harness.startTurn(session, 'Go', { permissionMode: 'bypassPermissions' })
      const { value: first } = await turn.next()
      await fileAppears(started)
      await harness[how](session.id)
      expect(await findByMarker(world.marker)).toEqual([])
      expect(await openFiles(world.project)).toEqual([])
      expect(endOf([first, ...(await collect(turn))])).toBe('killed')
    },
  )

  test('by closing the harness while it asks, with nobody to read the request', async () => {
    const { harness, model } = await world.open({ answers: [{ tool: 'bash', input: { command: 'true' } }] })
    const opts = { permissionMode: 'default', decide: () => new Promise<never>(() => {}) } as const
    const turn = harness.startTurn(world.session(), 'Go', opts)
    const { value: first } = await turn.next()
    await model.waitForRequest(({ state }) => state === 'done')
    await harness.close()
    const events = [first, ...(await collect(turn))]
    expect(endOf(events)).toBe('killed')
    expect(ofType(events, 'permission:resolved').every(({ outcome }) => outcome === 'cancelled')).toBe(true)
  })

  test('the next turn may begin with the last event', async () => {
    const { harness } = await world.open({ answers: ['One.', 'Two.'] })
    const session = world.session()
    for await (const event of harness.startTurn(session, 'Go')) {
      if (event.type === 'turn:end') expect(harness.isRunning(session.id)).toBe(false)
    }
  })
})

describe('while it runs', () => {
  test('more can be said, and comes with the next results', async () => {
    const go = path.join(world.project, 'go')
    const command = `while [ ! -e ${go} ]; do sleep 0.01; done`
    const { harness, model } = await world.open({ answers: [{ tool: 'bash', input: { command } }, 'Done.'] })
    const session = world.session()
    expect(await harness.steer(session.id, 'too early')).toBe(false)
    const events = await collectAnd(
      harness.startTurn(session, 'Go', { permissionMode: 'bypassPermissions' }),
      event => event.type === 'usage',
      async () => {
        expect(await harness.steer(session.id, 'be quick')).toBe(true)
        writeFileSync(go, '')
      },
    )
    expect(sentMessages(model).at(-1)?.content).toMatchObject([{ type: 'tool_result' }, { text: 'be quick' }])
    expect(statuses(events, 'notice')).toMatchObject([
      { message: 'be quick', data: { kind: 'user_message' } },
    ])
    expect(await harness.steer(session.id, 'too late')).toBe(false)
  })

  test('output of a command is shown before it ends', async () => {
    const go = path.join(world.project, 'go')
    const command = `echo early; while [ ! -e ${go} ]; do sleep 0.3; echo more; done`
    const { harness } = await world.open({
      answers: [{ tool: 'bash', input: { command }, id: 'c1' }, 'Done.'],
    })
    const events = await collectAnd(
      harness.startTurn(world.session(), 'Go', { permissionMode: 'bypassPermissions' }),
      event => event.type === 'status' && event.status === 'tool_progress',
      () => writeFileSync(go, ''),
    )
    expect(statuses(events, 'tool_progress')[0]).toMatchObject({
      toolUseId: 'c1',
      data: { toolName: 'bash', output: expect.stringContaining('early') },
    })
  })

  test('a silent model is reported as a stall', async () => {
    const { harness, model } = await world.open({ answers: [{ text: 'x', stallAfter: 0 }] })
    const events = await collectAnd(
      harness.startTurn(world.session(), 'Go', { stallMs: 1 }),
      event => event.type === 'status' && event.status === 'stalled',
      () => releaseStalled(model),
    )
    expect(endOf(events)).toBe('completed')
  })
})

function transcript(session: Session): string {
  const folder = path.join(world.project, '.chirality', 'state', 'messages-api')
  return path.join(folder, `${session.claudeSessionId}.ndjson`)
}
