import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { RequestPermissionRequest } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import { choose, openEditor, said } from './support/editor.ts'
import { asked, userTexts } from './support/requests.ts'
import { createWorld } from './support/world.ts'

test("the project's own command works after its files were allowed on a card, and is asked about again when it changes", async () => {
  const world = await createWorld({ otherwise: 'Hello.' })
  const folder = path.join(world.project, '.claude', 'commands')
  mkdirSync(folder, { recursive: true })
  const write = (text: string) =>
    writeFileSync(path.join(folder, 'hello.md'), `---\nargument-hint: NAME\n---\n${text}\n`)
  write('Say hello to the herons.')
  const cards: RequestPermissionRequest[] = []
  let kind = 'reject_once'
  const editor = await openEditor(world, [], (request, signal) => {
    cards.push(request)
    return choose(kind)(request, signal)
  })
  const opened = () => editor.agent.request('session/new', { cwd: world.project, mcpServers: [] })
  const last = () => userTexts(asked(world.model).at(-1)).join('\n')
  const first = await opened()
  await editor.prompt(first.sessionId, 'Hi')
  await editor.prompt(first.sessionId, 'Hi again')
  expect(cards).toMatchObject([{ toolCall: { title: "Use this project's settings, commands and servers?" } }])
  expect(JSON.stringify(cards)).toContain('Say hello to the herons.')

  kind = 'allow_always'
  const { sessionId } = await opened()
  await editor.prompt(sessionId, '/hello')
  expect(last()).toContain('Say hello to the herons.')
  expect(cards).toHaveLength(2)
  const names = editor.updates.flatMap(update =>
    update.sessionUpdate === 'available_commands_update' ? update.availableCommands : [],
  )
  expect(names).toContainEqual(expect.objectContaining({ name: 'hello', input: { hint: 'NAME' } }))

  write('Say hello to the otters.')
  await editor.prompt(sessionId, 'Hi')
  expect(cards).toHaveLength(3)
  expect(JSON.stringify(cards[2])).toContain('otters')
  editor.command.endInput()
  expect(await editor.command.result()).toMatchObject({ code: 0 })
})

test('an editor is offered the efforts and the mode auto that the agent names, and each reaches the model', async () => {
  const world = await createWorld({ otherwise: 'ok' })
  const editor = await openEditor(world)
  const { agent } = editor
  const { sessionId, configOptions, modes } = await agent.request('session/new', {
    ...{ cwd: world.project, mcpServers: [] },
  })
  const effort = configOptions?.find(({ id }) => id === 'effort') as { options: { value: string }[] }
  const offered = effort.options.map(({ value }) => value)
  expect(offered).toEqual(['default', 'low', 'medium', 'high', 'xhigh', 'max', 'ultracode'])
  expect(modes?.availableModes.map(({ id }) => id)).toContain('auto')
  const sent = () => JSON.stringify(asked(world.model).at(-1))
  const isOn = () => /Ultracode is on: [a-z]/.test(JSON.stringify(asked(world.model).at(-1)?.messages))
  for (const value of offered.slice(1)) {
    await agent.request('session/set_config_option', { sessionId, configId: 'effort', value })
    await editor.prompt(sessionId, `With ${value}.`)
    // Ultracode is the effort xhigh, and an instruction to plan with sub-agents.
    expect(sent()).toContain(`"effort":"${value === 'ultracode' ? 'xhigh' : value}"`)
    expect(isOn(), value).toBe(value === 'ultracode')
  }
  await agent.request('session/set_mode', { sessionId, modeId: 'auto' })
  await expect(editor.prompt(sessionId, 'By itself.')).resolves.toMatchObject({ stopReason: 'end_turn' })
  editor.command.endInput()
  expect(await editor.command.result()).toMatchObject({ code: 0 })
})

test('an editor sends a message into the running turn, chooses effort and model, forks and deletes', async () => {
  const world = await createWorld({
    answers: [
      { text: 'Slowly.', tool: 'Bash', input: { command: 'echo one > one.txt', description: 'x' } },
      'Both done.',
    ],
    otherwise: 'ok',
  })
  const editor = await openEditor(world)
  const { agent } = editor
  const { sessionId } = await agent.request('session/new', { cwd: world.project, mcpServers: [] })
  const prompt = [{ type: 'text' as const, text: 'And the walrus?' }]
  const steer = () =>
    agent.request('_session/steering', {
      ...{ sessionId, prompt, _meta: { steering: { idleBehavior: 'promptRequired' } } },
    })
  expect(await steer()).toMatchObject({ outcome: 'promptRequired' })
  let outcome: unknown
  editor.current.answer = async (request, signal) => {
    outcome = await steer()
    return choose('allow_once')(request, signal)
  }
  expect(await editor.prompt(sessionId, 'Begin.')).toMatchObject({ stopReason: 'end_turn' })
  expect(outcome).toEqual({ outcome: 'injected' })
  expect(JSON.stringify(asked(world.model).slice(1))).toContain('And the walrus?')
  // The editor shows what its user wrote itself.
  expect(said(editor.updates, 'user_message_chunk')).toBe('')

  const set = (configId: string, value: string) =>
    agent.request('session/set_config_option', { sessionId, configId, value })
  const { configOptions } = await set('effort', 'medium')
  expect(configOptions).toContainEqual(expect.objectContaining({ id: 'effort', currentValue: 'medium' }))
  await expect(set('effort', 'boundless')).rejects.toThrow('boundless')
  await set('effort', 'default')
  await agent.request('session/set_model', { sessionId, modelId: 'haiku' })

  const copy = (await agent.request('session/fork', {
    ...{ sessionId, cwd: world.project, mcpServers: [] },
  })) as { sessionId: string }
  expect(copy.sessionId).not.toBe(sessionId)
  await editor.prompt(copy.sessionId, 'Do you remember?')
  expect(JSON.stringify(asked(world.model).at(-1))).toContain('And the walrus?')
  await agent.request('session/delete', { sessionId: copy.sessionId })
  const { sessions } = await agent.request('session/list', { cwd: world.project })
  expect(sessions.map(session => session.sessionId)).toEqual([sessionId])
  await agent.request('session/load', { sessionId, cwd: world.project, mcpServers: [] })
  expect(said(editor.updates, 'user_message_chunk')).toContain('And the walrus?')
  editor.command.endInput()
  expect(await editor.command.result()).toMatchObject({ code: 0 })
})
