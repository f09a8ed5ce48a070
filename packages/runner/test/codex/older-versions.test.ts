import { readFileSync } from 'node:fs'
import type { UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { collect, collectAnd, expectOneEnd, ofType } from './support/events.ts'
import { useWorld, VOICES } from './support/world.ts'

// Stand-ins that say no as older releases do. Releases themselves are run by test/versions/codex.versions.ts (`npm run test:versions`).

const world = useWorld()
const THREAD = '00000000-0000-4000-8000-00000000c0de'
const isDelta = (event: UIEvent) => event.type === 'chat:delta'

/** A Codex without one method, and the requests that it got. */
function without(method: string) {
  const binaryPath = world.fake('fake-codex', `lacks:${method}`)
  const asked = () =>
    readFileSync(`${binaryPath}.asked`, 'utf8')
      .split('\n')
      .filter(line => line !== '')
  return { harness: world.harness({ binaryPath }), asked }
}

describe('a Codex without thread/backgroundTerminals/clean', () => {
  test('a stop ends the server, because the command would go on without the turn', async () => {
    const { harness } = without('thread/backgroundTerminals/clean')
    const session = world.session()
    const interrupt = () => harness.interrupt(session.id)
    const events = await collectAnd(harness.startTurn(session, 'Hi'), isDelta, interrupt)
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'interrupted' })
    // Gone without anybody having closed the harness.
    expect(await findByMarker(world.marker)).toEqual([])
    expect(world.logs).toContainEqual(
      expect.objectContaining({
        event: 'app-server:refused',
        data: expect.objectContaining({ isUnknown: true }),
      }),
    )
  })
})

describe('a Codex without thread/inject_items', () => {
  test('instructions of a resumed thread come with the message, once, and it is asked for it once', async () => {
    const { harness, asked } = without('thread/inject_items')
    const session = world.session({ claudeSessionId: THREAD })
    const go = (message: string, systemPromptAppend: string) =>
      collect(harness.startTurn(session, message, { systemPromptAppend }))
    const first = await go('One', 'Be calm.')
    await go('Two', 'Be calm.')
    await go('Three', 'Be brisk.')
    expect(ofType(first, 'turn:start')).toMatchObject([{ message: 'One' }])
    const prompts = asked().filter(line => line.startsWith('turn/start'))
    expect(prompts.map(line => line.match(/Be [a-z]+/g)?.join() ?? null)).toEqual([
      'Be calm',
      null,
      'Be brisk',
    ])
    expect(asked().filter(line => line.startsWith('thread/inject_items'))).toHaveLength(1)
  })
})

describe('a Codex whose version is too old', () => {
  test('is refused before it is given anything, with the version and what to do', async () => {
    const binaryPath = world.fake('fake-codex', 'version:0.63.0')
    const harness = world.harness({ binaryPath })
    const refusal = {
      code: 'unsupported',
      message: expect.stringMatching(/^Codex 0\.63\.0 is too old.*npm install/),
    }
    await expect(collect(harness.startTurn(world.session(), 'Hi'))).rejects.toMatchObject(refusal)
  })
})

describe('a Codex whose version the tests do not run', () => {
  test.each(
    VOICES.flatMap(({ voice }) => [
      { voice, version: '0.151.7', support: 'untested', words: 'not among the tested versions' },
      { voice, version: '0.999.0', support: 'newer', words: 'newer than the tested versions' },
    ]),
  )('$voice: $version is told in the first turn of a session, and in no other', async row => {
    const { voice, version, support, words } = row
    const harness = world.harness({ voice, binaryPath: world.fake('fake-codex', `version:${version}`) })
    const first = await collect(harness.startTurn(world.session(), 'Hi'))
    expect(expectOneEnd(first, voice)).toEqual({ reason: 'completed' })
    expect(notices(first)).toEqual([
      expect.objectContaining({
        status: 'notice',
        message: expect.stringMatching(`^Codex ${version} is ${words} \\(`),
        data: { kind: 'version', version, support },
      }),
    ])
    const later = world.session({ claudeSessionId: THREAD })
    expect(notices(await collect(harness.startTurn(later, 'Again')))).toEqual([])
  })

  function notices(events: UIEvent[]) {
    return ofType(events, 'status').filter(({ data }) => (data as { kind?: string })?.kind === 'version')
  }
})
