import { expect, test } from 'vitest'
import { isLoopback, startCommands } from './start-commands.ts'

test('the port is named when it is not the usual one', () => {
  expect(startCommands('4096')).toEqual(['npm start', 'npx chirality serve'])
  expect(startCommands('4100')).toEqual(['npm start -- --port 4100', 'npx chirality serve --port 4100'])
})

test('a command for a terminal is shown only on the machine itself', () => {
  expect(['127.0.0.1', 'localhost', '[::1]', 'agents.example', '10.0.0.1'].map(isLoopback)).toEqual([
    ...[true, true, true, false, false],
  ])
})
