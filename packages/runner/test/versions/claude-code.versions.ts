import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { CLAUDE_VERSIONS } from '../../src/claude-code/descriptor.ts'
import { bodies, collectAnd, lastBody, ofType, systemText } from '../claude-code/support/events.ts'
import { testFailingHooks } from '../claude-code/support/failing-hooks.ts'
import { useWarmWorld } from '../claude-code/support/warm.ts'
import { installed } from './installed.ts'

// What a person relies on, with releases that `npm test` never runs.
describe.each(installed('claude-code'))('Claude Code $version', ({ version, path: binary }) => {
  const world = useWarmWorld(binary)
  const TOUCH = { tool: 'Bash', input: { command: 'touch made.txt', description: 'x' } }
  const made = () => existsSync(path.join(world.project, 'made.txt'))

  testFailingHooks(world)

  test('is installed and has a credential', async () => {
    const status = await world.harness(binary).checkInstallStatus()
    expect(status).toMatchObject({ installed: true, version, authType: 'api-key', authenticated: true })
    const bare = world.harness(binary, { environment: { ANTHROPIC_API_KEY: undefined } })
    expect(await bare.checkInstallStatus()).toMatchObject({ installed: true, authenticated: false })
  })

  test('answers, remembers, and takes another model while it is kept', async () => {
    const model = await world.model({ answers: ['One.', 'Two.'] })
    const { turn, harness, session } = world.chat({ model })
    const first = await turn('remember the word zebra', { thinking: 'low' })
    expect(first.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
    await harness.contextUsage?.(session.id)
    const second = await turn('and now?', { thinking: 'low', model: 'claude-opus-4-1' })
    expect(ofType(second, 'chat:complete')).toMatchObject([{ text: 'Two.' }])
    expect(lastBody(model).model).toBe('claude-opus-4-1')
    expect(JSON.stringify(lastBody(model).messages)).toContain('zebra')
    expect(ofType([...first, ...second], 'native:unknown')).toEqual([])
    const told = ofType(first, 'status').filter(({ data }) => (data as { kind?: string })?.kind === 'version')
    expect(told).toHaveLength(CLAUDE_VERSIONS.tested.includes(version) ? 0 : 1)
  })

  test('heeds instructions that changed since', async () => {
    const model = await world.model({ answers: ['One.', 'Two.'] })
    const { turn, session } = world.chat({ model })
    await turn('Hi', { systemPromptAppend: 'Speak like a heron.' })
    const later = world.chat({ model, session })
    await later.turn('Hi again', { systemPromptAppend: 'Speak like an otter.' })
    const said = systemText(lastBody(model))
    expect([said.includes('otter'), said.includes('heron')]).toEqual([true, false])
  })

  test.each([
    ['allow', true],
    ['deny', false],
  ] as const)('%s reaches the agent', async (behavior, isMade) => {
    const model = await world.model({ answers: [TOUCH], otherwise: 'Done.' })
    const decide = async () => ({ behavior, message: 'Not on a Monday.' })
    const events = await world.chat({ model }).turn('go', { permissionMode: 'default', decide })
    expect(ofType(events, 'permission:resolved')).toHaveLength(1)
    expect(made()).toBe(isMade)
    expect(events.at(-1)).toMatchObject({ reason: 'completed' })
  })

  test('what nobody allowed is denied where nobody can be asked', async () => {
    const model = await world.model({ answers: [TOUCH], otherwise: 'Done.' })
    const { turn } = world.chat({ model })
    const events = await turn('go', { permissionMode: 'dontAsk' })
    expect(made()).toBe(false)
    expect(events.at(-1)).toMatchObject({ reason: 'completed' })
  })

  test('a stop is a stop, in the midst of an answer and of a tool', async () => {
    const model = await world.model({
      answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'Back again.'],
    })
    const { turn, events, harness, session, pids } = world.chat({ model })
    const stalled = model.waitForRequest(({ state }) => state === 'stalled')
    const stopped = await collectAnd(
      events('count'),
      ({ type }) => type === 'chat:delta',
      async () => {
        await stalled
        harness.interrupt(session.id)
      },
    )
    expect(stopped.at(-1)).toMatchObject({ type: 'turn:end', reason: 'interrupted' })
    expect(ofType(stopped, 'session:error')).toMatchObject([{ code: 'interrupted' }])
    const second = await turn('go on')
    expect(second.at(-1)).toMatchObject({ reason: 'completed' })
    expect(new Set(pids()).size).toBe(1)
  })

  test('a stop in a tool ends the command', async () => {
    const started = path.join(world.project, 'started')
    const command = `touch ${started}; sleep 600; touch ${started}-late`
    const model = await world.model({
      answers: [{ tool: 'Bash', input: { command, description: 'x' } }],
      otherwise: 'Done.',
    })
    const { turn, harness, session } = world.chat({ model })
    const turned = turn('go', { permissionMode: 'bypassPermissions', env: { IS_SANDBOX: '1' } })
    await world.fileAppears(started)
    harness.interrupt(session.id)
    expect((await turned).at(-1)).toMatchObject({ type: 'turn:end', reason: 'interrupted' })
    expect(existsSync(`${started}-late`)).toBe(false)
  })

  test('a message while a command runs reaches the model, and the turn ends', async () => {
    const go = path.join(world.project, 'go')
    const command = `touch ${go}.started; while [ ! -e ${go} ]; do sleep 0.05; done`
    const model = await world.model({
      answers: [{ tool: 'Bash', input: { command, description: 'x' } }],
      otherwise: 'Done.',
    })
    const { turn, harness, session } = world.chat({ model, lingerMs: 5_000 })
    const reading = turn('go', { permissionMode: 'bypassPermissions', env: { IS_SANDBOX: '1' } })
    await world.fileAppears(`${go}.started`)
    expect(await harness.steer?.(session.id, 'and the walrus')).toBe(true)
    writeFileSync(go, '')
    expect((await reading).at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
    expect(JSON.stringify(bodies(model))).toContain('and the walrus')
  })

  test('a limit that was reached is no success', async () => {
    writeFileSync(path.join(world.project, 'a.txt'), 'x')
    const read = { tool: 'Read', input: { file_path: path.join(world.project, 'a.txt') } }
    const model = await world.model({ answers: [read, read, read], otherwise: 'Done.' })
    const events = await world.chat({ model }).turn('go', { maxTurns: 1 })
    expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: 'max_turns' })
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'max_turns' }])
    expect(bodies(model)).toHaveLength(1)
  })
})
