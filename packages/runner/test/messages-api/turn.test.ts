import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { ofType } from '../support/turns.ts'
import { endOf, turnOf, useApiWorld } from './support/world.ts'

const world = useApiWorld()

test('a message, a tool and an answer', async () => {
  const { harness } = await world.open({
    answers: [
      { thinking: 'Let me look.', text: 'I read it.', tool: 'read', input: { file_path: 'a.txt' } },
      'It says hello.',
    ],
  })
  writeFileSync(path.join(world.project, 'a.txt'), 'hello\nthere\n')
  const events = await turnOf(harness, world.session(), 'What does a.txt say?')
  expect(endOf(events)).toBe('completed')
  expect(ofType(events, 'session:init')).toMatchObject([
    { harness: 'messages-api', model: 'claude-sonnet-5-5', tools: expect.arrayContaining(['read']) },
  ])
  expect(ofType(events, 'tool:result')).toMatchObject([
    { isError: false, content: '     1\thello\n     2\tthere' },
  ])
  expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'It says hello.' }])
  expect(ofType(events, 'session:complete')[0]?.costUsd).toBeGreaterThan(0)
  expect(world.spools()).toHaveLength(1)
})
