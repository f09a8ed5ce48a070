import { parseClaudeEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { ControlChannel } from './control-channel.ts'

function open(canWrite = true) {
  const written: { request_id: string }[] = []
  const channel = new ControlChannel({
    write: async line => {
      written.push(JSON.parse(line))
      return canWrite
    },
  })
  const answer = (fields: object) =>
    channel.see(
      parseClaudeEvent({
        type: 'control_response',
        response: { request_id: written.at(-1)?.request_id, ...fields },
      }),
    )
  return { channel, written, answer }
}

test('an answer reaches who asked; one without content is an empty one', async () => {
  const { channel, answer } = open()
  const first = channel.request({ subtype: 'initialize' })
  answer({ subtype: 'success', response: { commands: [] } })
  expect(await first).toEqual({ commands: [] })
  const second = channel.request({ subtype: 'interrupt' })
  answer({ subtype: 'success' })
  expect(await second).toEqual({})
})

test('a refusal rejects with its message, and an answer without a request is ignored', async () => {
  const { channel, answer } = open()
  answer({ subtype: 'success' })
  const asked = channel.request({ subtype: 'no_such' })
  answer({ subtype: 'error', error: 'Unsupported.' })
  await expect(asked).rejects.toThrow('Unsupported.')
})

test('a request rejects when the agent has exited or does not read', async () => {
  const { channel } = open()
  const asked = channel.request({ subtype: 'interrupt' })
  channel.close()
  await expect(asked).rejects.toThrow('gone')
  await expect(channel.request({ subtype: 'interrupt' })).rejects.toThrow('gone')
  await expect(open(false).channel.request({ subtype: 'interrupt' })).rejects.toThrow('gone')
})
