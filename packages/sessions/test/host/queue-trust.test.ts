import { mkdirSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { MessageQueue } from '../../src/queue/message-queue.ts'
import type { TurnRequest } from '../../src/queue/turn-request.ts'
import { useProject } from '../support/project.ts'

const project = useProject()
const SESSION = '00000000-0000-4000-8000-000000000001'

/** A queue as somebody else wrote it. */
async function read(request: TurnRequest): Promise<MessageQueue> {
  mkdirSync(project.file('state', 'queue'), { recursive: true })
  const message = { id: 'm', message: 'Go on', queuedAt: '2026-01-01T00:00:00.000Z', request }
  const state = { held: false, sending: null, messages: [message] }
  writeFileSync(project.file('state', 'queue', `${SESSION}.json`), JSON.stringify(state))
  const none = () => {}
  return MessageQueue.open({
    projectRoot: project.root,
    sessionId: SESSION,
    onChange: none,
    onRelease: none,
  })
}

test.each<[string, TurnRequest]>([
  ['all checks off', { permissionMode: 'bypassPermissions' }],
  ['tools that need not ask', { autoApproveTools: ['Bash'] }],
  ['the same over the persona', { autoApproveToolsOverride: ['Bash'] }],
  ['a program to start', { mcpServers: { x: { type: 'stdio', command: '/bin/sh' } } }],
  ['another address for the key', { env: { ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' } }],
  ['folders outside', { additionalDirectories: ['/'] }],
])('a file in the project cannot give a turn %s: it is held, and has less', async (_what, powers) => {
  const queue = await read({ ...powers, model: 'some-model', disallowedTools: ['Write'] })
  expect(queue.held).toBe(true)
  expect(queue.list()).toMatchObject([{ message: 'Go on' }])
  expect(queue.list()[0]?.request).toEqual({ model: 'some-model', disallowedTools: ['Write'] })
})

test('a queue that asks for no more permissions goes on unchanged', async () => {
  const request: TurnRequest = { model: 'some-model', permissionMode: 'acceptEdits', tools: 'Read' }
  const queue = await read(request)
  expect(queue.held).toBe(false)
  expect(queue.list()[0]?.request).toEqual(request)
})
