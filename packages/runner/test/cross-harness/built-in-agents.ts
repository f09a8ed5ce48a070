import { claudeBinaries, claudeBinary, codexBinary } from '@chirality/fixtures'
import { claudeEnv, codexArgs } from '@chirality/scripted-model'
import { AgentSdkHarness } from '../../src/agent-sdk/harness.ts'
import { ClaudeCodeHarness } from '../../src/claude-code/harness.ts'
import type { CodexHarnessConfig } from '../../src/codex/config.ts'
import { CodexHarness } from '../../src/codex/harness.ts'
import { MessagesApiHarness } from '../../src/messages-api/harness.ts'
import { MARKER_VARIABLE } from '../../src/process/system/leftovers.ts'
import { TOOL_SERVER_NAME as SERVER } from '../../src/tool-server/index.ts'
import type { Asking, Contestant } from './contestant.ts'

export function claudeForms(): Contestant[] {
  return claudeBinaries().flatMap(({ version, path }) => [
    claude(version, path, { keepAlive: false }),
    claude(version, path, { keepAlive: true }),
  ])
}

function claude(version: string, binary: string, { keepAlive }: { keepAlive: boolean }): Contestant {
  return {
    name: `claude-code ${version}${keepAlive ? ', kept' : ''}`,
    harness: 'claude-code',
    isOlder: binary !== claudeBinary(),
    processPerTurn: !keepAlive,
    binary,
    create: (model, { home, marker, environment }, other) =>
      new ClaudeCodeHarness({
        binaryPath: other ?? binary,
        keepAlive,
        environment: {
          ...claudeEnv(model, home),
          [MARKER_VARIABLE]: marker,
          CLAUDE_CODE_MAX_RETRIES: '1',
          ...environment,
        },
      }),
    command: shell => ({ tool: 'Bash', input: { command: shell, description: 'x' } }),
    clientTool: (name, input) => ({ tool: `mcp__${SERVER}__${name}`, input }),
    free: { permissionMode: 'bypassPermissions', env: { IS_SANDBOX: '1' } },
    unknownLine: '{"type":"from_the_future","value":1}',
    asking: keepAlive ? CLAUDE_ASKING : null,
  }
}

const CLAUDE_ASKING: Asking = {
  command: shell => ({ tool: 'Bash', input: { command: shell, description: 'x' } }),
  edited: (input, command) => ({ ...input, command }),
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
  plan: plan => ({ tool: 'ExitPlanMode', input: { plan } }),
  subAgent: prompt => ({
    tool: 'Agent',
    input: { description: 'd', prompt, subagent_type: 'general-purpose' },
  }),
}

export function agentSdkForms(): Contestant[] {
  return [agentSdk()]
}

function agentSdk(): Contestant {
  const binary = claudeBinary()
  const kept = claude('', binary, { keepAlive: true })
  return {
    ...kept,
    name: 'agent-sdk',
    harness: 'agent-sdk',
    create: (model, { home, marker }, other) =>
      new AgentSdkHarness({
        binaryPath: other ?? binary,
        environment: { ...claudeEnv(model, home), [MARKER_VARIABLE]: marker, CLAUDE_CODE_MAX_RETRIES: '1' },
      }),
  }
}

export function messagesApiForms(): Contestant[] {
  return [messagesApi()]
}

function messagesApi(): Contestant {
  return {
    name: 'messages-api',
    harness: 'messages-api',
    isOlder: false,
    processPerTurn: false,
    binary: null,
    create: (model, { home, marker }) =>
      new MessagesApiHarness({
        maxRetries: 1,
        environment: {
          PATH: '/usr/local/bin:/usr/bin:/bin',
          HOME: home,
          TMPDIR: `${home}/tmp`,
          ANTHROPIC_API_KEY: 'sk-scripted-model',
          ANTHROPIC_BASE_URL: model.url,
          [MARKER_VARIABLE]: marker,
        },
      }),
    command: shell => ({ tool: 'bash', input: { command: shell } }),
    clientTool: (name, input) => ({ tool: `mcp__${SERVER}__${name}`, input }),
    free: { permissionMode: 'bypassPermissions' },
    unknownLine: null,
    asking: {
      command: shell => ({ tool: 'bash', input: { command: shell } }),
      edited: (input, command) => ({ ...input, command }),
      // It has these two by the same names.
      question: CLAUDE_ASKING.question,
      plan: CLAUDE_ASKING.plan,
      subAgent: null,
    },
  }
}

export function codexForms(): Contestant[] {
  return [codex('app-server'), codex('exec')]
}

function codex(voice: NonNullable<CodexHarnessConfig['voice']>): Contestant {
  const { path: binary } = codexBinary()
  return {
    name: `codex ${voice}`,
    harness: 'codex',
    isOlder: false,
    processPerTurn: voice === 'exec',
    binary,
    create: (model, { home, marker }, other) => {
      const { args, env } = codexArgs(model)
      return new CodexHarness({
        binaryPath: other ?? binary,
        voice,
        configOverrides: [...args.filter(arg => arg !== '-c'), 'model="scripted"'],
        allowEnvironment: Object.keys(env),
        environment: {
          PATH: '/usr/local/bin:/usr/bin:/bin',
          HOME: home,
          TMPDIR: `${home}/tmp`,
          [MARKER_VARIABLE]: marker,
          ...env,
        },
      })
    },
    command: shell => ({ tool: 'exec_command', input: { cmd: shell } }),
    clientTool: (name, input) => ({ tool: name, namespace: `mcp__${SERVER}`, input }),
    free: { permissionMode: 'bypassPermissions' },
    // An app-server serves several sessions: a line that names none of them is in the log of the harness, not in a session.
    unknownLine: voice === 'exec' ? '{"type":"from.the.future","value":1}' : null,
    asking: voice === 'exec' ? null : CODEX_ASKING,
  }
}

const CODEX_ASKING: Asking = {
  command: cmd => ({
    tool: 'exec_command',
    input: { cmd, sandbox_permissions: 'require_escalated', justification: 'x' },
  }),
  edited: null,
  question: null,
  plan: null,
  subAgent: null,
}
