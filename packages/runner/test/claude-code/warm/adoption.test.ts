import { existsSync } from 'node:fs'
import path from 'node:path'
import type { UIEvent } from '@chirality/core'
import { claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { type Contestant, contestants } from '../../cross-harness/contestants.ts'
import { useHosts } from '../../support/host.ts'
import { collect, ofType } from '../support/events.ts'
import { useWarmWorld } from '../support/warm.ts'

const hosts = useHosts()

describe.each(claudeVersions())('a turn of a kept Claude Code $version', ({ path: binary, version }) => {
  const world = useWarmWorld(binary)
  const agent = contestants().find(({ name }) => name === `claude-code ${version}, kept`) as Contestant

  test('is told again from its own beginning, with its own cost', async () => {
    const model = await world.model({ answers: ['First.', 'Second.', 'Third.'] })
    const { turn, processes, harness, session } = world.chat({ model })
    await turn('one')
    const second = await turn('two', { turnId: 'second' })
    await turn('three')
    await harness.close()
    const trace = { turnId: 'second', startedAt: '', message: 'two', processes: processes.slice(1, 2) }
    const again = await collect(world.chat().harness.adoptTurn(session, trace))
    const [init, complete, cost] = ['session:init', 'chat:complete', 'session:complete'] as const
    expect(ofType(again, complete).map(({ text }) => text)).toEqual(['Second.', 'Third.'])
    expect(again.slice(0, second.length - 1)).toEqual(second.slice(0, -1))
    expect(ofType(again, cost)[0]).toEqual(ofType(second, cost)[0])
    expect(ofType(again, init)[0]).toEqual(ofType(second, init)[0])
  })

  test('whose Chirality is killed goes on to its end', async () => {
    const model = await world.model({ answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }] })
    const { host, adopt } = other(model)
    await host.tells(({ type }) => type === 'chat:delta')
    await host.kill()
    model.release()
    const events = await adopt()
    expect(events.slice(0, host.events.length)).toEqual(host.events)
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'one two three' }])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
  })

  test('that asked when its Chirality was killed does nothing, and the question is closed', async () => {
    const file = path.join(world.project, 'forbidden')
    const command = `touch ${file}`
    const model = await world.model({
      answers: [{ tool: 'Bash', input: { command, description: 'x' } }, 'I was not allowed to.'],
    })
    const { host, adopt } = other(model, { permissionMode: 'default' })
    await host.tells(({ type }) => type === 'permission:request')
    await host.kill()
    const events = await adopt()
    expect(events.slice(0, host.events.length)).toEqual(host.events)
    expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'cancelled' }])
    expect(ofType(events, 'turn:end')).toHaveLength(1)
    expect(existsSync(file)).toBe(false)
  })

  function other(model: { url: string; openaiUrl: string }, opts = {}) {
    const session = world.session()
    const place = { home: world.home, marker: world.marker }
    const host = hosts.start({
      agent: agent.name,
      model,
      place,
      session,
      message: 'go',
      opts,
      decision: 'never',
    })
    world.atEnd(() => host.kill())
    const adopt = (): Promise<UIEvent[]> =>
      collect(world.chat().harness.adoptTurn(session, host.trace()) as AsyncGenerator<UIEvent>)
    return { host, adopt }
  }
})
