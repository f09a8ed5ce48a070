// Adds one agent for each line of its input, and answers each: several of these write one list at the same moment.
import { createInterface } from 'node:readline'
import { addConfiguredAgent } from '../../src/acp/configured-agents.ts'

const [, , name = ''] = process.argv
process.stdout.write('ready\n')
for await (const folder of createInterface({ input: process.stdin })) {
  await addConfiguredAgent(folder, { name, command: '/bin/true', args: [], env: [] })
  process.stdout.write('added\n')
}
