import { expect, test } from 'vitest'
import { withoutSecrets } from './sent-message.ts'

const logged = (message: object): unknown => JSON.parse(JSON.stringify(message, withoutSecrets))

test('of a tool server the log has the names, and no value, argument or part of an address that may be a secret', () => {
  const pairs = [{ name: 'TOKEN', value: 'sk-1' }]
  const mcpServers = [
    { name: 'local', command: 'serve', args: ['--key', 'sk-1'], env: pairs },
    {
      type: 'http',
      name: 'far',
      url: 'https://me:sk-1@a.example:8443/sk-1/mcp?apiKey=sk-1#sk-1',
      headers: pairs,
    },
    { type: 'http', name: 'odd', url: 'sk-1', headers: [] },
  ]
  expect(logged({ id: 1, method: 'session/new', params: { cwd: '/p', mcpServers } })).toEqual({
    id: 1,
    method: 'session/new',
    params: {
      cwd: '/p',
      mcpServers: [
        { name: 'local', command: 'serve', args: ['…', '…'], env: [{ name: 'TOKEN', value: '…' }] },
        {
          type: 'http',
          name: 'far',
          url: 'https://a.example:8443/…',
          headers: [{ name: 'TOKEN', value: '…' }],
        },
        { type: 'http', name: 'odd', url: '…', headers: [] },
      ],
    },
  })
})

test('of a form the log has the fields, and not what a person entered', () => {
  const result = { action: 'accept', content: { password: 'sk-1', tags: ['sk-1'] } }
  expect(logged({ id: 2, result })).toEqual({
    id: 2,
    result: { action: 'accept', content: { password: '…', tags: '…' } },
  })
  const others = { id: 3, result: { outcome: { outcome: 'selected', optionId: 'yes' } } }
  expect(logged(others)).toEqual(others)
})
