import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { claudeVersions, faultyClaude } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { PIXEL_PNG } from '../../support/images.ts'
import { bodies, collectAnd, modelRequests, ofType } from '../support/events.ts'
import { BYPASS, useWarmWorld } from '../support/warm.ts'

describe.each(claudeVersions())('a message during a turn of Claude Code $version', ({ path: binary }) => {
  const world = useWarmWorld(binary)

  test('while a tool runs it is read with the result of the tool', async () => {
    const go = path.join(world.project, 'go')
    const command = `touch ${go}.started; while [ ! -e ${go} ]; do sleep 0.05; done`
    const model = await world.model({
      answers: [{ tool: 'Bash', input: { command, description: 'x' } }, 'Both done.', 'Next.'],
    })
    const { turn, harness, session, pids } = world.chat({ model })
    const reading = turn('first', BYPASS)
    await world.fileAppears(`${go}.started`)
    expect(await harness.steer?.(session.id, 'and the walrus')).toBe(true)
    writeFileSync(go, '')
    const events = await reading
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Both done.' }])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
    expect(JSON.stringify(bodies(model).at(-1)?.messages)).toContain('and the walrus')
    expect(takenUp(events)).toEqual(['and the walrus'])
    expect(await harness.steer?.(session.id, 'too late')).toBe(false)
    await turn('second', BYPASS)
    expect(JSON.stringify(bodies(model))).not.toContain('too late')
    expect(new Set(pids()).size).toBe(1)
  })

  test('while the model writes it is answered next, and the turn ends once, after that', async () => {
    const model = await world.model({
      answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'And the walrus.'],
    })
    const { events, harness, session } = world.chat({ model })
    const all = await collectAnd(
      events('first'),
      ({ type }) => type === 'chat:delta',
      async () => {
        expect(await harness.steer?.(session.id, 'what else?')).toBe(true)
        model.release()
      },
    )
    expect(ofType(all, 'chat:complete').map(({ text }) => text)).toEqual(['one two three', 'And the walrus.'])
    expect(ofType(all, 'turn:end')).toMatchObject([{ reason: 'completed' }])
    expect(ofType(all, 'session:complete')).toHaveLength(2)
    expect(takenUp(all)).toEqual(['what else?'])
  })

  test('is not read any more after an interrupt, and that is said', async () => {
    const model = await world.model({
      answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'Next.'],
    })
    const { events, turn, harness, session, pids } = world.chat({ model })
    const all = await collectAnd(
      events('first'),
      ({ type }) => type === 'chat:delta',
      async () => {
        await harness.steer?.(session.id, 'never read')
        harness.interrupt(session.id)
        expect(await harness.steer?.(session.id, 'too late')).toBe(false)
      },
    )
    expect(ofType(all, 'turn:end')).toMatchObject([{ reason: 'interrupted' }])
    expect(ofType(all, 'status')).toContainEqual(
      expect.objectContaining({ message: 'A message was not read before the turn ended.' }),
    )
    await turn('next')
    expect(JSON.stringify(bodies(model))).not.toContain('never read')
    expect(modelRequests(model)).toHaveLength(2)
    expect(new Set(pids()).size).toBe(1)
  })
})

describe('a message during a turn', () => {
  const world = useWarmWorld(claudeVersions()[0]?.path ?? '')

  test('may have an image', async () => {
    const model = await world.model({
      answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'Seen.'],
    })
    const { events, harness, session } = world.chat({ model })
    await collectAnd(
      events('first'),
      ({ type }) => type === 'chat:delta',
      async () => {
        const source = { kind: 'base64', data: PIXEL_PNG, mediaType: 'image/png' } as const
        expect(await harness.steer?.(session.id, 'look', [{ type: 'image', source }])).toBe(true)
        model.release()
      },
    )
    expect(JSON.stringify(bodies(model).at(-1)?.messages)).toContain('"type":"image"')
  })

  test('a message without a running turn is not taken', async () => {
    const { harness, session } = world.chat()
    expect(await harness.steer?.(session.id, 'hello')).toBe(false)
  })
})

describe('an agent that never says that it read a message', () => {
  const world = useWarmWorld(claudeVersions()[0]?.path ?? '')

  test.each([
    ['and is silent', false],
    ['and is stopped', true],
  ])('%s: the turn ends with its answer, and says so', async (_what, stops) => {
    const go = path.join(world.project, 'go')
    const command = `touch ${go}.started; while [ ! -e ${go} ]; do sleep 0.05; done`
    const model = await world.model({
      answers: [{ tool: 'Bash', input: { command, description: 'x' } }, 'Both done.', 'Next.'],
    })
    const binary = faultyClaude(world.home, claudeVersions()[0]?.path ?? '', 'no-replay')
    const { turn, events, harness, session, pids } = world.chat({
      model,
      binary,
      ...(stops ? {} : { lingerMs: 200 }),
    })
    const reading = collectAnd(
      events('first', BYPASS),
      ({ type }) => type === 'session:complete',
      async () => {
        if (stops) harness.interrupt(session.id)
      },
    )
    await world.fileAppears(`${go}.started`)
    expect(await harness.steer?.(session.id, 'and the walrus')).toBe(true)
    writeFileSync(go, '')
    const all = await reading
    expect(ofType(all, 'chat:complete')).toMatchObject([{ text: 'Both done.' }])
    expect(ofType(all, 'turn:end')).toMatchObject([{ reason: stops ? expect.any(String) : 'completed' }])
    expect(takenUp(all)).toEqual([])
    expect(ofType(all, 'status')).toContainEqual(
      expect.objectContaining({
        message: 'The agent did not say whether it read a message before the turn ended.',
      }),
    )
    const next = await turn('second', BYPASS)
    expect(ofType(next, 'chat:complete')).toMatchObject([{ text: 'Next.' }])
    expect(new Set(pids()).size).toBe(1)
  })
})

function takenUp(events: Parameters<typeof ofType>[0]): unknown[] {
  return ofType(events, 'status')
    .filter(({ data }) => data?.kind === 'user_message')
    .map(({ data }) => data?.text)
}
