import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { acpAdapter, claudeBinary, publishedAgent } from '@chirality/fixtures'
import { claudeEnv } from '@chirality/scripted-model'
import { type AcpAgentSpec, acpDescriptor, KNOWN_AGENTS } from '../../src/acp/agent-spec.ts'
import { acpHarness } from '../../src/acp/harness.ts'
import { acpTrial } from '../../src/acp/trials.ts'
import { MARKER_VARIABLE } from '../../src/process/system/leftovers.ts'
import { TOOL_SERVER_NAME as SERVER } from '../../src/tool-server/index.ts'
import type { Asking, Contestant, ModelAddress } from '../cross-harness/contestant.ts'

/**
 * Real agents that speak the Agent Client Protocol, as they come from the npm registry. `npm test` runs one conversation
 * of each (agents.test.ts); the suites run with CHIRALITY_TEST_ALL.
 */
export function acpForms(): Contestant[] {
  // What they ask about they decide themselves, so the suite of decisions is not theirs.
  return publishedAgents().length === 0
    ? []
    : [...acpAgents(), ...publishedAgents()].map(agent => ({ ...agent, asking: null }))
}

/** None without CHIRALITY_TEST_ALL: they are too large for `npm test`. */
export function publishedAgents(): Contestant[] {
  return process.env.CHIRALITY_TEST_ALL ? PUBLISHED.map(published) : []
}

export function acpAgents(): Contestant[] {
  return [claude(), codex()]
}

/** The harness of a known agent, started by this program. */
export function acpAgentHarness(
  name: string,
  command: string,
  environment: Record<string, string>,
  more: string[] = [],
): ReturnType<typeof acpHarness> {
  const known = KNOWN_AGENTS.find(agent => agent.name === name)
  // Here the adapters list their conversations themselves, as under a name that nobody knows.
  const { nativeSessions: _, ...given } = known ?? { name, args: [], env: [] }
  const spec: AcpAgentSpec = { ...given, command, env: [...given.env, ...more] }
  const { meta, capabilities } = acpDescriptor(spec)
  // On a busy machine an agent takes minutes to start: the limit is tested with one that never answers.
  return acpHarness({ spec, meta, capabilities, options: { environment, handshakeMs: 600_000 } })
}

const PATH = `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`

function claude(): Contestant {
  const binary = acpAdapter('claude-agent-acp')
  const command = (shell: string) => ({ tool: 'Bash', input: { command: shell, description: 'x' } })
  return {
    name: 'acp claude',
    harness: 'acp-claude',
    isOlder: false,
    processPerTurn: false,
    endsWithHost: true,
    binary,
    create: (model, { home, marker }, other = binary) =>
      acpAgentHarness('claude', other, {
        ...claudeEnv(model, home),
        PATH,
        [MARKER_VARIABLE]: marker,
        CLAUDE_CODE_MAX_RETRIES: '1',
        CLAUDE_CODE_EXECUTABLE: claudeBinary(),
      }),
    command,
    clientTool: (name, input) => ({ tool: `mcp__${SERVER}__${name}`, input }),
    free: { permissionMode: 'bypassPermissions' },
    unknownLine: '{"jsonrpc":"2.0","method":"from/the/future","params":{"value":1}}',
    asking: {
      ...PLAIN,
      command,
      question: (question, choices) => ({
        tool: 'AskUserQuestion',
        input: {
          questions: [
            {
              question,
              header: 'Choose',
              multiSelect: false,
              options: choices.map(label => ({ label, description: label })),
            },
          ],
        },
      }),
    },
  }
}

function codex(): Contestant {
  const binary = acpAdapter('codex-acp')
  return {
    name: 'acp codex',
    harness: 'acp-openai-codex',
    isOlder: false,
    processPerTurn: false,
    endsWithHost: true,
    answersWithErrors: true,
    denialEndsTurn: true,
    // It asks for a title with all of its tools, when it likes.
    routes: [
      { when: { lastUserContains: 'generate a very short title' }, answers: [], otherwise: 'A title' },
    ],
    binary,
    create: (model, { home, marker }, other = binary) => {
      configureCodex(model, home)
      return acpAgentHarness('openai-codex', other, {
        PATH,
        HOME: home,
        TMPDIR: `${home}/tmp`,
        OPENAI_API_KEY: 'sk-scripted-model',
        [MARKER_VARIABLE]: marker,
      })
    },
    command: cmd => ({ tool: 'exec_command', input: { cmd } }),
    clientTool: (name, input) => ({ tool: name, namespace: `mcp__${SERVER}`, input }),
    free: { permissionMode: 'bypassPermissions' },
    unknownLine: '{"jsonrpc":"2.0","method":"from/the/future","params":{"value":1}}',
    asking: {
      ...PLAIN,
      command: cmd => ({
        tool: 'exec_command',
        input: { cmd, sandbox_permissions: 'require_escalated', justification: 'x' },
      }),
    },
  }
}

interface Published {
  name: 'opencode' | 'copilot' | 'qwen'
  command: Contestant['command']
  clientTool: Contestant['clientTool']
  answersWithErrors?: boolean
  denialEndsTurn?: boolean
}

/** Agents that are too large for `npm test`: `npm run test:all` installs them. They are set up as `chirality conformance` does it. */
const PUBLISHED: readonly Published[] = [
  {
    name: 'opencode',
    command: command => ({ tool: 'bash', input: { command, description: 'x' } }),
    clientTool: (name, input) => ({ tool: `${SERVER}_${name}`, input }),
    denialEndsTurn: true,
  },
  {
    name: 'copilot',
    command: command => ({ tool: 'bash', input: { command, description: 'x' } }),
    clientTool: (name, input) => ({ tool: `${SERVER}-${name}`, input }),
    answersWithErrors: true,
    denialEndsTurn: true,
  },
  {
    name: 'qwen',
    command: command => ({
      tool: 'run_shell_command',
      input: { command, is_background: false, description: 'x' },
    }),
    clientTool: (name, input) => ({ tool: `mcp__${SERVER}__${name}`, input }),
  },
]

function published({ name, ...facts }: Published): Contestant {
  const binary = publishedAgent(name)
  return {
    name: `acp ${name}`,
    harness: `acp-${name}`,
    isOlder: false,
    processPerTurn: false,
    endsWithHost: true,
    binary,
    create: async ({ url, openaiUrl }, { home, marker }, other = binary) => {
      const variables = await acpTrial(name).prepare({ url, openaiUrl, home, project: home })
      const place = { PATH, HOME: home, TMPDIR: `${home}/tmp`, [MARKER_VARIABLE]: marker }
      return acpAgentHarness(name, other, { ...place, ...variables }, Object.keys(variables))
    },
    free: { permissionMode: 'bypassPermissions' },
    unknownLine: '{"jsonrpc":"2.0","method":"from/the/future","params":{"value":1}}',
    asking: null,
    // Titles and routing are asked for without tools.
    routes: [{ when: { withoutTools: true }, answers: [], otherwise: '{"title":"A test"}' }],
    ...facts,
  }
}

const PLAIN: Omit<Asking, 'command'> = { edited: null, question: null, plan: null, subAgent: null }

function configureCodex(model: ModelAddress, home: string): void {
  const folder = path.join(home, '.codex')
  mkdirSync(folder, { recursive: true })
  const lines = [
    'model = "gpt-5.5"',
    'model_provider = "scripted"',
    '[model_providers.scripted]',
    'name = "scripted"',
    `base_url = "${model.openaiUrl}"`,
    'env_key = "OPENAI_API_KEY"',
    'wire_api = "responses"',
  ]
  writeFileSync(path.join(folder, 'config.toml'), `${lines.join('\n')}\n`)
}
