import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts, UIEvent } from '@chirality/core'
import { cageHere, claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { collect, collectAnd, expectOneEnd, ofType, statuses } from '../claude-code/support/events.ts'
import { useWarmWorld } from '../claude-code/support/warm.ts'
import { type Contestant, contestants } from '../cross-harness/contestants.ts'
import { useHosts } from '../support/host.ts'

const hosts = useHosts()
const { environment, refusal } = cageHere()
const CAGED: HarnessTurnOpts = { cage: 'required', autoApproveTools: ['Bash'] }
const HANGING = {
  tool: 'Bash',
  input: { command: 'setsid tail -f /dev/null & echo $$ > started; tail -f /dev/null' },
}

describe.each(claudeVersions())('the life of a cage of Claude Code $version', ({ path: binary, version }) => {
  const world = useWarmWorld(binary)

  test('a kept agent has one cage for its turns, and each turn says how it held', async () => {
    const model = await world.model({ answers: ['First.', 'Second.'] })
    const chat = world.chat({ model, environment })
    if (refusal !== undefined) return expect(chat.turn('one', CAGED)).rejects.toThrow(refusal)
    const turns = [await chat.turn('one', CAGED), await chat.turn('two', CAGED)]
    expect(new Set(chat.pids()).size).toBe(1)
    for (const turn of turns) {
      expect(ofType(turn, 'turn:end')).toMatchObject([{ reason: 'completed' }])
      expect(statuses(turn, 'caged')).toMatchObject([{ message: 'Caged: 11 of 11 held' }])
    }
    const free = await chat.turn('three')
    expect(statuses(free, 'caged')).toEqual([])
    expect(new Set(chat.pids()).size).toBe(2)
  })

  test.each(['interrupt', 'kill'] as const)('%s leaves no process, no socket and no file', async how => {
    const model = await world.model({ answers: [HANGING], otherwise: 'Never said.' })
    const harness = world.harness(binary, { model, environment })
    const session = world.session()
    const turn = harness.startTurn(session, 'Run it', CAGED)
    if (refusal !== undefined) return expect(collect(turn)).rejects.toThrow(refusal)
    const isTool = ({ type }: UIEvent) => type === 'tool:start'
    const events = await collectAnd(turn, isTool, async () => {
      await world.fileAppears(path.join(world.project, 'started'))
      await harness[how](session.id)
    })
    expect(ofType(events, 'turn:end')).toHaveLength(1)
    expect(statuses(events, 'cleanup')).toEqual([])
    expect(temporary()).toEqual([])
  })

  test('a caged agent whose Chirality is killed goes on to its end', async () => {
    const agent = contestants().find(({ name }) => name === `claude-code ${version}`) as Contestant
    const model = await world.model({
      answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }],
    })
    const session = world.session()
    const place = { home: world.home, marker: world.marker, environment }
    const host = hosts.start({ agent: agent.name, model, place, session, message: 'go', opts: CAGED })
    world.atEnd(() => host.kill())
    if (refusal !== undefined) return expect(host.tells(() => false)).rejects.toThrow()
    await host.tells(({ type }) => type === 'chat:delta')
    await host.kill()
    model.release()
    const events = await collect(
      world.harness(binary).adoptTurn(session, host.trace()) as AsyncGenerator<UIEvent>,
    )
    expect(events.slice(0, host.events.length)).toEqual(host.events)
    expect(statuses(events, 'caged')).toHaveLength(1)
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'one two three' }])
    expect(temporary()).toEqual([])
  })

  test('the key is in no file, no environment and no argument of the cage', async () => {
    const look =
      'env > env.txt; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline > proc.bin; ls -la ~ ~/.claude > home.txt'
    const model = await world.model({ answers: [{ tool: 'Bash', input: { command: look } }, 'Done.'] })
    const key = 'sk-ant-the-real-one-5f2d9c'
    const harness = world.harness(binary, { model, environment: { ...environment, ANTHROPIC_API_KEY: key } })
    const turn = harness.startTurn(world.session(), 'Look', CAGED)
    if (refusal !== undefined) return expect(collect(turn)).rejects.toThrow(refusal)
    expectOneEnd(await collect(turn))
    expect(readFileSync(path.join(world.project, 'env.txt'), 'utf8')).toContain(
      'ANTHROPIC_API_KEY=sk-ant-api03-caged-',
    )
    for (const file of filesBelow(world.root)) expect(readFileSync(file).includes(key), file).toBe(false)
    expect(model.requests.every(({ headers }) => headers['x-api-key'] === key)).toBe(true)
    expect(JSON.stringify(model.requests.map(({ body }) => body))).not.toContain(key)
  })

  function temporary(): string[] {
    return readdirSync(world.temporary).filter(name => name.startsWith('chirality-'))
  }
})

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile())
    .map(entry => path.join(entry.parentPath, entry.name))
}
