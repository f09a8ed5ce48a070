import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts, UIEvent } from '@chirality/core'
import type { Script } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { collect, expectOneEnd, ofType, run, statuses } from './support/events.ts'
import { useWorld, VOICES } from './support/world.ts'

const world = useWorld()

/** Adds a file and changes another, as `gpt-5.5` writes it. */
const PATCH = `*** Begin Patch
*** Add File: new.txt
+new line
*** Update File: old.txt
@@
-old line
+changed line
*** End Patch
`

describe.each(VOICES)('a turn of Codex through $voice', ({ voice }) => {
  async function turn(answers: Script['answers'], opts: HarnessTurnOpts = {}) {
    const model = await world.model({ answers })
    const events = await collect(world.harness({ model, voice }).startTurn(world.session(), 'Do it', opts))
    return { model, events }
  }

  const toolOf = (events: UIEvent[], name: string) => ofType(events, 'tool:start').find(t => t.name === name)

  test('text, reasoning, usage and one end', async () => {
    const usage = { input: 900, output: 50, cacheRead: 400 }
    const { events } = await turn([{ thinking: 'Let me think.', text: 'Hello there.', usage }])
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(events[0]).toMatchObject({ type: 'turn:start', message: 'Do it' })
    expect(ofType(events, 'session:init')).toMatchObject([
      {
        claudeSessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        harness: 'codex',
        cwd: world.project,
        permissionMode: 'dontAsk',
      },
    ])
    expect(ofType(events, 'chat:thinking').at(-1)).toMatchObject({ text: 'Let me think.', final: true })
    expect(ofType(events, 'chat:message').map(({ text }) => text)).toEqual(['Hello there.'])
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Hello there.' }])
    expect(ofType(events, 'session:complete')).toMatchObject([
      { usage: { input_tokens: 500, output_tokens: 50, cache_read_input_tokens: 400 } },
    ])
    expect(ofType(events, 'session:error')).toEqual([])
    const ids = new Set(events.map(({ sessionId }) => sessionId))
    expect(ids.size).toBe(1)
  })

  test('a command with its output and exit code', async () => {
    const { events } = await turn([run('echo out; echo err >&2; exit 3'), 'Done.'])
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    const start = toolOf(events, 'command')
    expect(start?.input.command).toContain('echo out')
    const [result] = ofType(events, 'tool:result')
    expect(result).toMatchObject({ toolUseId: start?.toolUseId, isError: true, detail: { exitCode: 3 } })
    expect(result?.content).toContain('out\n')
    expect(result?.content).toContain('err\n')
  })

  test('a file change', async () => {
    writeFileSync(path.join(world.project, 'old.txt'), 'old line\n')
    const { events } = await turn([{ tool: 'apply_patch', input: PATCH }, 'Done.'], {
      model: 'gpt-5.5',
      permissionMode: 'acceptEdits',
    })
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(readFileSync(path.join(world.project, 'new.txt'), 'utf8')).toBe('new line\n')
    expect(readFileSync(path.join(world.project, 'old.txt'), 'utf8')).toBe('changed line\n')
    const start = toolOf(events, 'file_change')
    expect(JSON.stringify(start?.input)).toContain('new.txt')
    const [result] = ofType(events, 'tool:result')
    expect(result).toMatchObject({ toolUseId: start?.toolUseId, isError: false })
    // Only the app-server tells what was changed.
    expect(JSON.stringify(result?.detail ?? '').includes('+changed line')).toBe(voice === 'app-server')
  })

  test('a plan', async () => {
    const plan = [
      { step: 'Look around', status: 'completed' },
      { step: 'Do the work', status: 'in_progress' },
    ]
    const { events } = await turn([{ tool: 'update_plan', input: { plan } }, 'Done.'])
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    const shown = JSON.stringify(events)
    expect(shown).toContain('Look around')
    expect(shown).toContain('Do the work')
  })

  test('more output than a screen can show ends the turn like any other', async () => {
    const text = { repeat: 'A long answer. ', bytes: 3 * 1024 * 1024 }
    const { events } = await turn([run('head -c 2000000 /dev/zero | tr "\\0" x'), { text }])
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(ofType(events, 'chat:complete')[0]?.text.length).toBe(text.bytes)
    expect(ofType(events, 'tool:result')[0]?.content.length).toBeGreaterThan(10_000)
  })

  test('an empty prompt, and a folder that does not exist, start nothing', async () => {
    const model = await world.model({})
    const harness = world.harness({ model, voice })
    const refusedTurns = [
      harness.startTurn(world.session(), '  '),
      harness.startTurn(world.session({ projectRoot: path.join(world.root, 'nowhere') }), 'Hi'),
      harness.startTurn(world.session(), 'Hi', { additionalDirectories: [path.join(world.root, 'no')] }),
    ]
    for (const events of refusedTurns)
      await expect(events.next()).rejects.toMatchObject({ code: 'invalid_query' })
    expect(world.spools()).toEqual([])
    expect(model.requests).toEqual([])
  })

  test('a model that Codex does not know causes a notice, and the turn runs', async () => {
    const { events, model } = await turn(['Hi.'], { model: 'never-heard-of' })
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(model.requests.at(-1)?.body).toMatchObject({ model: 'never-heard-of' })
    expect(JSON.stringify(statuses(events, 'notice'))).toContain('never-heard-of')
  })
})

test('the app-server streams text and reasoning in pieces; without partial messages only whole ones come', async () => {
  const answer = { thinking: 'I think about it.', text: 'One two three four.', chunkChars: 4 }
  const model = await world.model({ answers: [answer, answer] })
  const harness = world.harness({ model })
  const pieces = await collect(harness.startTurn(world.session(), 'Hi'))
  const texts = ofType(pieces, 'chat:delta').map(({ text }) => text)
  expect(texts.length).toBeGreaterThan(3)
  expect(texts.join('')).toBe('One two three four.')
  expect(ofType(pieces, 'chat:thinking').filter(({ final }) => !final).length).toBeGreaterThan(1)

  const whole = await collect(harness.startTurn(world.session(), 'Hi', { includePartialMessages: false }))
  expect(ofType(whole, 'chat:delta')).toEqual([])
  expect(ofType(whole, 'chat:thinking').map(({ final }) => final)).toEqual([true])
  expect(ofType(whole, 'chat:message')).toMatchObject([{ text: 'One two three four.' }])
})
