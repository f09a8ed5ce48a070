import { claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { PIXEL_PNG } from '../support/images.ts'
import { collect, expectOneEnd, lastBody, modelRequests, ofType } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

describe.each(claudeVersions())('prompts to Claude Code $version', ({ path: binary, version }) => {
  test.each([
    { what: 'begins with dashes', prompt: '--help --dangerously-skip-permissions' },
    {
      what: 'has a NUL, every kind of line end, rare characters and shell words',
      prompt: 'a\0b\nc\r\nd\u2028e\u2029f 😀 “ü” \t $(touch owned) `touch owned` "; #\' end',
    },
  ])('one that $what arrives as it is', async ({ prompt }) => {
    const model = await world.model({ answers: ['Read.'] })
    const events = await collect(world.harness(binary, { model }).startTurn(world.session(), prompt))
    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(events[0]).toMatchObject({ type: 'turn:start', message: prompt })
    expect(userTexts(lastBody(model).messages)).toContain(prompt)
  })

  test('one of 5 MB goes through stdin', async () => {
    const prompt = `first ${'word '.repeat(1024 * 1024)} last`
    const model = await world.model({ answers: ['That was long.'] })
    const events = await collect(world.harness(binary, { model }).startTurn(world.session(), prompt))
    const { reason } = expectOneEnd(events)
    if (version === '2.1.197') {
      expect(reason).toBe('completed')
      expect(userTexts(lastBody(model).messages)).toContain(prompt)
    } else {
      // The newer release counts for itself, and does not even ask the model.
      expect(reason).toBe('failed')
      expect(ofType(events, 'session:error')).toMatchObject([{ code: 'context_overflow' }])
      expect(modelRequests(model)).toEqual([])
    }
  })

  test('texts and images keep their order', async () => {
    const model = await world.model({ answers: ['Seen.'] })
    const image = {
      type: 'image',
      source: { kind: 'base64', mediaType: 'image/png', data: PIXEL_PNG },
    } as const
    const prompt = [
      { type: 'text', text: 'before' } as const,
      image,
      { type: 'text', text: 'after' } as const,
    ]
    const events = await collect(world.harness(binary, { model }).query(world.query({ prompt })))
    expect(events.at(-1)?.type).toBe('complete')
    // A release may add notes of its own to the last text.
    const parts = partsOf(lastBody(model).messages).flatMap(({ type, text }) => {
      const word = /^(before|after)\b/.exec(String(text))?.[0]
      return type === 'image' ? ['image'] : word ? [word] : []
    })
    expect(parts).toEqual(['before', 'image', 'after'])
  })

  test('a slash command is answered by the CLI itself', async () => {
    const model = await world.model({})
    const events = await collect(world.harness(binary, { model }).startTurn(world.session(), '/cost'))
    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(modelRequests(model)).toEqual([])
  })
})

function partsOf(messages: { role: string; content: unknown }[]): { type?: string; text?: unknown }[] {
  return messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) =>
      typeof content === 'string' ? [{ type: 'text', text: content }] : (content as []),
    )
}

function userTexts(messages: { role: string; content: unknown }[]): unknown[] {
  return partsOf(messages).map(({ text }) => text)
}
