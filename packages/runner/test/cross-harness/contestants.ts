import type { SessionHarness } from '@chirality/core'
import { claudeBinaries, claudeBinary, codexBinary } from '@chirality/fixtures'
import { claudeEnv, codexArgs, type ScriptBlock, type ScriptedModel } from '@chirality/scripted-model'
import { AgentSdkHarness } from '../../src/agent-sdk/harness.ts'
import { ClaudeCodeHarness } from '../../src/claude-code/harness.ts'
import type { CodexHarnessConfig } from '../../src/codex/config.ts'
import { CodexHarness } from '../../src/codex/harness.ts'
import { MARKER_VARIABLE } from '../../src/process/leftovers.ts'
import { TOOL_SERVER_NAME as SERVER } from '../../src/tool-server/index.ts'

export interface Place {
  home: string
  marker: string
}

export type ModelAddress = Pick<ScriptedModel, 'url' | 'openaiUrl'>

/** One agent in one of its forms. The suite knows nothing else about it. */
export interface Contestant {
  name: string
  /** Runs each turn in a process of its own, so its turns end with `process:exit`. */
  processPerTurn: boolean
  create(model: ModelAddress, place: Place, binary?: string): SessionHarness
  binary: string
  /** What the model has to say for the agent to run a shell command. */
  command(shell: string): ScriptBlock
  /** What the model has to say to call a client tool. */
  clientTool(name: string, input: Record<string, unknown>): ScriptBlock
  /** Lets commands run, and nothing be asked. */
  free: { permissionMode: 'bypassPermissions'; env?: Record<string, string> }
  /** A line of the agent's own protocol that no version knows. */
  unknownLine: string
}

export function contestants(): Contestant[] {
  return [
    ...claudeBinaries().flatMap(({ version, path }) => [
      claude(version, path, false),
      claude(version, path, true),
    ]),
    agentSdk(),
    codex('app-server'),
    codex('exec'),
  ]
}

function claude(version: string, binary: string, keepAlive: boolean): Contestant {
  return {
    name: `claude-code ${version}${keepAlive ? ', kept' : ''}`,
    processPerTurn: !keepAlive,
    binary,
    create: (model, { home, marker }, other) =>
      new ClaudeCodeHarness({
        binaryPath: other ?? binary,
        keepAlive,
        environment: { ...claudeEnv(model, home), [MARKER_VARIABLE]: marker, CLAUDE_CODE_MAX_RETRIES: '1' },
      }),
    command: shell => ({ tool: 'Bash', input: { command: shell, description: 'x' } }),
    clientTool: (name, input) => ({ tool: `mcp__${SERVER}__${name}`, input }),
    free: { permissionMode: 'bypassPermissions', env: { IS_SANDBOX: '1' } },
    unknownLine: '{"type":"from_the_future","value":1}',
  }
}

function agentSdk(): Contestant {
  const kept = claude('', claudeBinary(), true)
  return {
    ...kept,
    name: 'agent-sdk',
    create: (model, { home, marker }, other) =>
      new AgentSdkHarness({
        binaryPath: other ?? kept.binary,
        environment: { ...claudeEnv(model, home), [MARKER_VARIABLE]: marker, CLAUDE_CODE_MAX_RETRIES: '1' },
      }),
  }
}

function codex(voice: NonNullable<CodexHarnessConfig['voice']>): Contestant {
  const { path: binary } = codexBinary()
  return {
    name: `codex ${voice}`,
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
    unknownLine:
      voice === 'exec'
        ? '{"type":"from.the.future","value":1}'
        : '{"method":"from/the/future","params":{"value":1}}',
  }
}
