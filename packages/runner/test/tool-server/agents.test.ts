import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClientToolDefinition } from '@chirality/core'
import { claudeVersions, codexBinary } from '@chirality/fixtures'
import {
  claudeEnv,
  codexArgs,
  type Script,
  type ScriptedModel,
  startScriptedModel,
} from '@chirality/scripted-model'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AgentProcess, spawnAgent } from '../../src/process/agent-process.ts'
import type { ToolServerHandle } from '../../src/tool-server/index.ts'
import { collect, jsonValues, openTestSpool } from '../support/programs.ts'
import { useProject } from '../support/project.ts'
import { deferred, ECHO, fired, tool, useToolServer } from './support.ts'

const project = useProject()
const servers = useToolServer()
let models: ScriptedModel[] = []

beforeEach(() => {
  for (const folder of ['home/tmp', 'home/.codex', 'work'])
    mkdirSync(join(project.root, folder), { recursive: true })
})
afterEach(async () => {
  await Promise.all(models.map(model => model.close()))
  models = []
})

async function startModel(script: Script): Promise<ScriptedModel> {
  const model = await startScriptedModel(script)
  models.push(model)
  return model
}

interface Start {
  binary: string
  handle: ToolServerHandle
  model: ScriptedModel
  tools: string[]
  permissionMode?: string
}

/** As the harness does it: the token goes through an owner-only file. */
async function startClaude({
  binary,
  handle,
  model,
  tools,
  permissionMode = 'dontAsk',
}: Start): Promise<AgentProcess> {
  const config = join(project.root, 'mcp.json')
  writeFileSync(config, JSON.stringify({ mcpServers: { [handle.serverName]: handle.mcpServer } }), {
    mode: 0o600,
  })
  const allowed = tools.map(name => `mcp__${handle.serverName}__${name}`)
  return spawnAgent({
    command: binary,
    args: [
      ...['-p', '--output-format', 'stream-json', '--verbose', '--mcp-config', config, '--strict-mcp-config'],
      ...['--permission-mode', permissionMode, '--allowedTools', ...allowed],
    ],
    cwd: join(project.root, 'work'),
    env: claudeEnv(model, join(project.root, 'home')),
    spool: await openTestSpool(project.root),
    stdin: 'Use the tool.',
  })
}

/** The token goes through a variable that the command line names. */
async function startCodex({ binary, handle, model }: Start): Promise<AgentProcess> {
  const scripted = codexArgs(model)
  const home = join(project.root, 'home')
  const server = `mcp_servers.${handle.serverName}`
  const overrides = [
    'model="scripted"',
    `${server}.url="${handle.mcpServer.url}"`,
    `${server}.bearer_token_env_var="TOOL_SERVER_TOKEN"`,
    `${server}.default_tools_approval_mode="approve"`,
    // As the harness has it: else Codex begins without a server that takes a second to answer.
    `${server}.required=true`,
    `${server}.startup_timeout_sec=60`,
  ]
  return spawnAgent({
    command: binary,
    args: [
      ...scripted.args,
      ...overrides.flatMap(override => ['-c', override]),
      ...['exec', '--json', '--skip-git-repo-check', '-'],
    ],
    cwd: join(project.root, 'work'),
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: home,
      CODEX_HOME: join(home, '.codex'),
      TMPDIR: join(home, 'tmp'),
      TOOL_SERVER_TOKEN: handle.mcpServer.headers?.Authorization?.replace('Bearer ', '') ?? '',
      ...scripted.env,
    },
    spool: await openTestSpool(project.root),
    stdin: 'Use the tool.',
  })
}

const NAMESPACE = 'mcp____harness_client_tools'

const AGENTS = [
  ...claudeVersions().map(({ version, path }) => ({
    agent: `Claude Code ${version}`,
    binary: path,
    start: startClaude,
    toolCall: (name: string, input: Record<string, unknown>) => ({ tool: `${NAMESPACE}__${name}`, input }),
    /** What the model was offered in the first request. */
    offered: (body: unknown) => (body as { tools: { name: string }[] }).tools.map(({ name }) => name),
    offer: (name: string) => `${NAMESPACE}__${name}`,
  })),
  {
    agent: `Codex ${codexBinary().version}`,
    binary: codexBinary().path,
    start: startCodex,
    toolCall: (name: string, input: Record<string, unknown>) => ({ tool: name, namespace: NAMESPACE, input }),
    offered: (body: unknown) =>
      (body as { tools: { name: string; tools?: { name: string }[] }[] }).tools.flatMap(({ name, tools }) =>
        (tools ?? []).map(inner => `${name} ${inner.name}`),
      ),
    offer: (name: string) => `${NAMESPACE} ${name}`,
  },
]

describe.each(AGENTS)('$agent', ({ binary, start, toolCall, offered, offer }) => {
  /** One turn in which the model calls the tools of `answers`, up to the end of the process. */
  async function turn(tools: ClientToolDefinition[], calls: ReturnType<typeof toolCall>[]) {
    const model = await startModel({ answers: [...calls, 'Done.'] })
    const handle = await servers.start(tools)
    const agent = await start({ binary, handle, model, tools: tools.map(({ name }) => name) })
    const outputs = await collect(agent)
    const exit = await agent.exited
    const asked = model.requests.filter(({ served }) => served.startsWith('answers['))
    return { exit, asked, printed: JSON.stringify(jsonValues(outputs)) }
  }

  test('is offered the tool at once, calls it without asking, and gets the answer', async () => {
    const calls: unknown[] = []
    const handler: ClientToolDefinition['handler'] = async args => {
      calls.push(args)
      return { content: `the answer to ${args.text}` }
    }
    const { exit, asked, printed } = await turn([{ ...ECHO, handler }], [toolCall('echo', { text: 'hé 😀' })])
    expect(calls).toEqual([{ text: 'hé 😀' }])
    expect(exit.code).toBe(0)
    expect(offered(asked[0]?.body)).toContain(offer('echo'))
    expect(toolResults(asked[1]?.body)).toContain('the answer to hé 😀')
    expect(printed).toContain('the answer to hé 😀')
  })

  test('survives every kind of failure of a tool, and the model reads what went wrong', async () => {
    const tools = [
      ECHO,
      tool('throws', () => {
        throw new Error('BROKEN-DISK')
      }),
      tool('surrogate', async () => ({ content: 'ODD-\ud800-TEXT' })),
      tool('big', async () => ({ content: 'x'.repeat(100 * 1024 * 1024) })),
    ]
    const { exit, asked } = await turn(tools, [
      toolCall('throws', {}),
      toolCall('echo', { text: 7 }),
      toolCall('surrogate', {}),
      toolCall('big', {}),
      toolCall('echo', { text: 'LAST-CALL' }),
    ])
    expect(exit.code).toBe(0)
    const answers = asked.slice(1).map(({ body }) => toolResults(body))
    expect(answers[0]).toContain('BROKEN-DISK')
    expect(answers[1]).toContain('data/text must be string')
    expect(answers[2]).toContain('ODD-\ufffd-TEXT')
    expect(answers[3]?.length).toBeLessThan(2 * 1024 * 1024)
    expect(answers[3]?.length).toBeGreaterThan(answers[2]?.length ?? Number.NaN)
    expect(answers[4]).toContain('echo: LAST-CALL')
  })

  test('calls a tool with the longest name there may be', async () => {
    const name = 'n'.repeat(64)
    const { asked } = await turn([{ ...ECHO, name }], [toolCall(name, { text: 'LONG' })])
    expect(toolResults(asked[1]?.body)).toContain('echo: LONG')
  })

  test('that is killed in the middle of a call leaves a handler that knows', async () => {
    const started = deferred<AbortSignal>()
    const handle = await servers.start([
      tool('hang', (_args, { signal }) => {
        started.resolve(signal)
        return new Promise(() => {})
      }),
    ])
    const model = await startModel({ answers: [toolCall('hang', {}), 'Done.'] })
    const agent = await start({ binary, handle, model, tools: ['hang'] })
    const signal = await started.promise
    expect((await agent.stop({ interruptGraceMs: 0, termGraceMs: 0 })).leftRunning).toEqual([])
    await fired(signal)
    await agent.close()
  })
})

test.each(claudeVersions())(
  'a tool that changes nothing may be used in plan mode of $version',
  async ({ path }) => {
    const input = { text: 'PLANNED' }
    const model = await startModel({ answers: [{ tool: `${NAMESPACE}__echo`, input }, 'Done.'] })
    const handle = await servers.start([{ ...ECHO, readOnly: true }])
    await collect(await startClaude({ binary: path, handle, model, tools: ['echo'], permissionMode: 'plan' }))
    const { body } = await model.waitForRequest(({ served }) => served === 'answers[1]')
    expect(toolResults(body)).toContain('echo: PLANNED')
  },
)

/** What the tools of the conversation have said so far, in either API. */
function toolResults(body: unknown): string {
  const { messages = [], input = [] } = body as {
    messages?: { content: unknown }[]
    input?: { type: string; output?: unknown }[]
  }
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
  return JSON.stringify([
    ...blocks.filter(({ type }) => type === 'tool_result'),
    ...input.filter(({ type }) => type === 'function_call_output'),
  ])
}
