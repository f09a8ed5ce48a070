import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  client,
  type NewSessionResponse,
  ndJsonStream,
  type PromptResponse,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk/unstable'
import { acpAdapter, claudeBinary } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import { asked, userTexts } from './support/requests.ts'
import { BIN, createWorld, type World } from './support/world.ts'

/** The same conversation through Chirality and through the adapter that editors use without it, with the same Claude Code. */
const answersFor = (project: string) => [
  {
    ...{ text: 'I look.', tool: 'Bash' },
    input: { command: "printf 'a\\n```\\nb\\n'", description: 'Print a fence' },
  },
  { text: 'Now the file.', tool: 'Read', input: { file_path: path.join(project, 'a.txt') } },
  'Seen.',
  { text: 'An answer that never ends and goes on.', stallAfter: 4 },
  'The copy knows.',
]

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

type Update = SessionUpdate & Record<string, unknown>

interface Observed {
  hello: { agentCapabilities?: Record<string, unknown> | null; _meta?: Record<string, unknown> | null }
  made: NewSessionResponse
  requests: RequestPermissionRequest[]
  live: Update[]
  loaded: Update[]
  answer: PromptResponse
  cancelled: PromptResponse
  /** Whether the room in the context was told before the prompt was answered. */
  toldRoom: boolean
  /** The texts of the user's blocks in the model's first and in the copy's request. */
  sent: string[]
  copied: string
}

async function converse(world: World, args: string[], program?: string): Promise<Observed> {
  for (const name of ['a.txt', 'README.md']) writeFileSync(path.join(world.project, name), 'herons\n')
  world.model.continueWith(...answersFor(world.project))
  const updates: Update[] = []
  const requests: RequestPermissionRequest[] = []
  const open = async () => {
    const env = { CLAUDE_CODE_EXECUTABLE: claudeBinary() }
    const command = world.start(args, { keepsInput: true, env, ...(program ? { program } : {}) })
    const streams = command.streams()
    const { agent } = client({ name: 'an editor' })
      .onNotification('session/update', ({ params }) => void updates.push(params.update as Update))
      .onRequest('session/request_permission', ({ params }) => {
        requests.push(params)
        const optionId = params.options.find(({ kind }) => kind === 'allow_once')?.optionId ?? ''
        return { outcome: { outcome: 'selected', optionId } }
      })
      .connect(ndJsonStream(streams.input, streams.output))
    const hello = await agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
    const close = async () => {
      command.endInput()
      await command.result()
    }
    return { agent, hello, close }
  }
  const place = { cwd: world.project, mcpServers: [] }
  const first = await open()
  const { agent, hello } = first
  const made = (await agent.request('session/new', place)) as NewSessionResponse
  const { sessionId } = made
  const link = (name: string) => ({
    ...{ type: 'resource_link' as const, name },
    uri: pathToFileURL(path.join(world.project, name)).href,
  })
  const resource = { uri: 'file:///else/where.ts', text: 'const heron = 1' }
  const answer = await agent.request('session/prompt', {
    sessionId,
    prompt: [
      { type: 'text', text: 'P-CONTENT look' },
      link('a.txt'),
      link('README.md'),
      { type: 'text', text: 'x' },
      { type: 'resource', resource },
      { type: 'image', data: PIXEL, mimeType: 'image/png' },
    ],
  })
  const toldRoom = updates.some(({ sessionUpdate }) => sessionUpdate === 'usage_update')
  const sent = userTexts(asked(world.model)[0])
  const slow = agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'Slowly.' }] })
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  await expect.poll(() => textOf(updates)).toContain('An answer')
  await agent.notify('session/cancel', { sessionId })
  const cancelled = await slow
  const copy = (await agent.request('session/fork', { sessionId, ...place })) as { sessionId: string }
  await agent.request('session/prompt', {
    sessionId: copy.sessionId,
    prompt: [{ type: 'text', text: 'Who are you?' }],
  })
  const copied = userTexts(asked(world.model).at(-1)).join('\n')
  await expect
    .poll(() => updates.some(({ sessionUpdate }) => sessionUpdate === 'available_commands_update'))
    .toBe(true)
  const live = [...updates]
  await first.close()
  updates.length = 0
  const second = await open()
  await second.agent.request('session/load', { sessionId, ...place })
  const loaded = [...updates]
  await second.close()
  return { hello, made, requests, live, loaded, answer, cancelled, toldRoom, sent, copied } as Observed
}

function textOf(updates: Update[], kind = 'agent_message_chunk'): string {
  return updates
    .map(({ sessionUpdate, content }) =>
      sessionUpdate === kind ? ((content as { text?: string }).text ?? '') : '',
    )
    .join('')
}

/** All that was told of the calls of a tool, in one text for each update. */
function calls({ live }: Observed): Update[] {
  return live.filter(({ sessionUpdate }) => sessionUpdate.startsWith('tool_call'))
}

const contentOf = (update: Update) =>
  ((update.content ?? []) as { content?: { text?: string } }[]).map(({ content }) => content?.text ?? '')

function options({ made }: Observed, category: string): { value: string; description?: string | null }[] {
  const option = made.configOptions?.find(one => one.category === category)
  return option && 'options' in option ? (option.options as { value: string; description?: string }[]) : []
}

const has = (observed: Observed, capability: string) => {
  const session = observed.hello.agentCapabilities?.sessionCapabilities as Record<string, unknown> | undefined
  return session?.[capability] != null
}

/** What an editor has of it. Where the adapter has it, Chirality has it; lists are the adapter's and may be longer. */
const POINTS: Record<string, (observed: Observed) => boolean | string[]> = {
  'blocks of a prompt are apart': ({ sent }) =>
    sent.some(text => /look(\s|$)/.test(text)) &&
    !sent.some(text => /look\S|README\.mdx|a\.txt[@[]/.test(text)),
  'embedded files arrive': ({ sent }) => sent.some(text => text.includes('const heron = 1')),
  'output is fenced': seen =>
    calls(seen).some(call => contentOf(call).some(text => /^`{3,}console\na\n/.test(text))),
  rawOutput: seen => calls(seen).some(({ rawOutput }) => rawOutput != null),
  rawInput: seen => calls(seen).some(({ rawInput }) => JSON.stringify(rawInput ?? '').includes('printf')),
  'description of a command': ({ requests, ...seen }) =>
    [...calls({ requests, ...seen }), ...requests.map(({ toolCall }) => toolCall as unknown as Update)].some(
      call => contentOf(call).includes('Print a fence'),
    ),
  'title with the path in the project': seen => calls(seen).some(({ title }) => title === 'Read a.txt'),
  'location of a file': ({ live, ...seen }) =>
    calls({ live, ...seen }).some(({ locations }) =>
      ((locations ?? []) as { path: string }[]).some(({ path: file }) => file.endsWith('/a.txt')),
    ),
  'location of a request': ({ requests }) =>
    requests.some(({ toolCall }) => (toolCall.locations ?? []).length > 0),
  'text on load': ({ loaded }) => textOf(loaded).includes('Seen.'),
  'message on load': ({ loaded }) => textOf(loaded, 'user_message_chunk').includes('P-CONTENT'),
  'images on load': ({ loaded }) =>
    loaded.some(
      ({ sessionUpdate, content }) =>
        sessionUpdate === 'user_message_chunk' && (content as { type: string }).type === 'image',
    ),
  models: seen => options(seen, 'model').map(({ value }) => value),
  'models with descriptions': seen =>
    options(seen, 'model').some(({ description }) => (description ?? '').includes('$')),
  effort: seen => options(seen, 'thought_level').map(({ value }) => value),
  modes: ({ made }) => made.modes?.availableModes.map(({ id }) => id) ?? [],
  'mode as an option': seen => options(seen, 'mode').length > 0,
  'usage in the answer': ({ answer }) => (answer.usage?.outputTokens ?? 0) > 0,
  'room in the context during the turn': ({ toldRoom }) => toldRoom,
  'commands with hints': ({ live }) =>
    live.some(({ availableCommands }) =>
      ((availableCommands ?? []) as { input?: { hint?: string } | null }[]).some(({ input }) => input?.hint),
    ),
  fork: seen => has(seen, 'fork') && seen.copied.includes('P-CONTENT'),
  delete: seen => has(seen, 'delete'),
  close: seen => has(seen, 'close'),
  resume: seen => has(seen, 'resume'),
  list: seen => has(seen, 'list'),
  additionalDirectories: seen => has(seen, 'additionalDirectories'),
  steering: ({ hello }) => (hello._meta?.steering as { supported?: boolean } | undefined)?.supported === true,
  cancel: ({ cancelled }) => cancelled.stopReason === 'cancelled',
  'a cancelled answer once': ({ live, loaded }) =>
    [live, loaded].every(updates => textOf(updates).split('An answer').length === 2),
}

/** Where the adapter has more, and why that is so. */
const STATED: Record<string, true | string[]> = {
  // The project of a session is one folder; what an agent may reach beyond it is set in Chirality.
  additionalDirectories: true,
  // Everything at once is given with one message, in the dashboard.
  modes: ['bypassPermissions'],
}

test('an editor has through Chirality what it has of claude-agent-acp', async () => {
  const direct = await converse(await createWorld(), [acpAdapter('claude-agent-acp')], process.execPath)
  const ours = await converse(await createWorld(), [BIN, 'acp'], process.execPath)
  const less = Object.entries(POINTS).flatMap(([point, of]) => {
    const [there, here] = [of(direct), of(ours)]
    const stated = STATED[point]
    if (!Array.isArray(there)) return there && here !== true && stated !== true ? [point] : []
    const known = Array.isArray(here) ? here : []
    const missing = there.filter(one => !known.includes(one) && !(stated === true || stated?.includes(one)))
    return missing.map(one => `${point}: ${one}`)
  })
  expect(less).toEqual([])
})
