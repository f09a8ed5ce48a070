// A program with a harness of its own. A test takes this folder out of the repository, installs the packed packages beside
// it, compiles and runs it: what a harness needs is exported.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { ClientToolDefinition, HarnessQuery, SessionHarness } from '@chirality/core'
import { HarnessRegistry, processEnv } from '@chirality/runner'
import { startScriptedModel } from '@chirality/scripted-model'
import { lineHarness } from './harness.ts'

const [binary = ''] = process.argv.slice(2)
const folder = mkdtempSync(path.join(tmpdir(), 'line-agent-'))
const asked = { tool: 'greet', input: { name: 'Ada' } }
const model = await startScriptedModel({ answers: [asked, 'Greeted in a turn.', asked, 'And in a query.'] })
const harnesses = new HarnessRegistry<SessionHarness>()
const own = { HOME: folder, LINE_AGENT_URL: model.url, LINE_AGENT_KEY: 'sk-scripted-model' }
harnesses.register(lineHarness({ binary, environment: { ...processEnv(), ...own } }))
const harness = harnesses.getOrThrow('line-agent')

const greet: ClientToolDefinition = {
  name: 'greet',
  description: 'Greets someone',
  inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  handler: async args => {
    console.log(`greet ${JSON.stringify(args)}`)
    return { content: `Hello ${String(args.name)}` }
  },
}
const at = new Date().toISOString()
const session = {
  id: randomUUID(),
  createdAt: at,
  updatedAt: at,
  projectRoot: folder,
  persona: null,
  mode: 'direct' as const,
  claudeSessionId: null,
}
for await (const event of harness.startTurn(session, 'Greet Ada', { clientTools: [greet] })) {
  if (event.type === 'tool:result') console.log(event.content)
  if (event.type === 'chat:complete') console.log(event.text)
  if (event.type === 'turn:end') console.log(event.reason)
}
const query: HarnessQuery = {
  prompt: 'Greet Ada',
  cwd: folder,
  mode: 'workspace-write',
  clientTools: [greet],
  signal: new AbortController().signal,
}
for await (const event of harness.query(query))
  if (event.type === 'complete' || event.type === 'error') console.log(event.type)

await harness.close?.()
await model.close()
rmSync(folder, { recursive: true })
