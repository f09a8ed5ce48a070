import { ACP_ID_PREFIX, type HarnessCapabilities, type HarnessId, type PermissionMode } from '@chirality/core'
import { CLAUDE_META } from '../claude-code/descriptor.ts'
import { CODEX_META } from '../codex/descriptor.ts'
import type { HarnessDescriptor } from '../harness-descriptor.ts'
import { acpTrial } from './trials.ts'

/** An agent that speaks the Agent Client Protocol: how it is started, and what it can do. */
export interface AcpAgentSpec {
  /** Lower-case letters, digits and dashes. The id of the harness is `acp-<name>`. */
  name: string
  /** For people. Default: the name. */
  title?: string
  command: string
  args: string[]
  /** The names of variables that it gets, besides those of every program. */
  env: string[]
  vendor?: string
  website?: string
  install?: string
  /** What differs from an agent of which nothing is known. */
  capabilities?: Partial<HarnessCapabilities>
  /** Its costs are those of the whole conversation, also in a new process. Default: they begin at zero with the process. */
  countsWholeCost?: boolean
  /**
   * The harness that lists its conversations: another one whose agent keeps them in the same files, or null if nobody does. Default:
   * the agent itself is asked.
   */
  nativeSessions?: HarnessId | null
  /** The agent's own mode for a permission mode. `default` is the one in which it asks most. */
  modes?: Partial<Record<PermissionMode, string>>
}

/** What can be promised of any agent. Whether it streams, copies conversations or names its costs, nobody can know beforehand. */
const CAPABILITIES: HarnessCapabilities = {
  supportsSystemPrompt: false,
  supportsAppendSystemPrompt: true,
  supportsReadOnly: false,
  supportsMcp: true,
  supportsResume: true,
  supportsFork: false,
  supportsForkAt: false,
  supportsClientTools: true,
  supportsStreamingTokens: true,
  supportsCostTracking: false,
  supportsNamedTools: false,
  supportsImages: true,
  supportsDecisions: true,
  supportsSteering: false,
  supportsPrewarm: true,
  supportsMaxTurns: false,
  supportsBudget: false,
}

export function acpDescriptor(spec: AcpAgentSpec): HarnessDescriptor {
  const { name, title = name, vendor = 'configured', website = PROTOCOL_SITE, install } = spec
  const id = `${ACP_ID_PREFIX}${name}`
  const nativeSessions = spec.nativeSessions === undefined ? id : spec.nativeSessions
  const meta = {
    id,
    name: title,
    vendor,
    website,
    install: install ?? `Install ${spec.command}, so that PATH finds it.`,
    environment: { names: spec.env },
    ...(nativeSessions === null ? {} : { nativeSessions }),
  }
  const capabilities = { ...CAPABILITIES, ...spec.capabilities }
  return {
    meta,
    capabilities,
    trial: acpTrial(name),
    create: async options => {
      const command = options?.binaryPath ?? spec.command
      const { acpHarness } = await import('./harness.ts')
      return acpHarness({ spec: { ...spec, command }, meta, capabilities, options })
    },
  }
}

const PROTOCOL_SITE = 'https://agentclientprotocol.com'

/** The modes that adapters of Claude Code have. */
const CLAUDE_MODES = { default: 'default', plan: 'plan' } as const

/** Agents that are offered when their program is found. */
export const KNOWN_AGENTS: readonly AcpAgentSpec[] = [
  {
    name: 'opencode',
    title: 'OpenCode',
    command: 'opencode',
    args: ['acp'],
    env: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'OPENROUTER_API_KEY'],
    vendor: 'SST',
    website: 'https://opencode.ai',
    install: 'npm install -g opencode-ai',
    modes: { default: 'build', plan: 'plan' },
    capabilities: { supportsReadOnly: true, supportsFork: true, supportsCostTracking: true },
    countsWholeCost: true,
  },
  {
    name: 'copilot',
    title: 'GitHub Copilot CLI',
    command: 'copilot',
    args: ['--acp'],
    env: [
      'GITHUB_TOKEN',
      'GH_TOKEN',
      'COPILOT_PROVIDER_API_KEY',
      'COPILOT_PROVIDER_BASE_URL',
      'COPILOT_MODEL',
    ],
    vendor: 'GitHub',
    website: 'https://github.com/features/copilot',
    install: 'npm install -g @github/copilot',
    // It asks before each call of a tool server, in words that do not name the server.
    capabilities: { supportsClientTools: false },
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    command: 'gemini',
    args: ['--acp'],
    env: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GEMINI_BASE_URL', 'GOOGLE_CLOUD_PROJECT'],
    vendor: 'Google',
    website: 'https://github.com/google-gemini/gemini-cli',
    install: 'npm install -g @google/gemini-cli',
    modes: { default: 'default', plan: 'plan' },
    capabilities: { supportsReadOnly: true },
  },
  {
    name: 'qwen',
    title: 'Qwen Code',
    command: 'qwen',
    args: ['--acp'],
    env: ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL', 'DASHSCOPE_API_KEY'],
    vendor: 'Alibaba',
    website: 'https://github.com/QwenLM/qwen-code',
    install: 'npm install -g @qwen-code/qwen-code',
    modes: { default: 'default', plan: 'plan' },
    // The model has to search for tools of servers before it can call them.
    capabilities: { supportsReadOnly: true, supportsClientTools: false },
  },
  {
    name: 'goose',
    command: 'goose',
    args: ['acp'],
    env: ['GOOSE_PROVIDER', 'GOOSE_MODEL', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY'],
    vendor: 'Block',
    website: 'https://block.github.io/goose',
    install: 'See https://block.github.io/goose',
  },
  {
    name: 'kimi',
    title: 'Kimi CLI',
    command: 'kimi',
    args: ['acp'],
    env: ['KIMI_API_KEY', 'MOONSHOT_API_KEY'],
    vendor: 'Moonshot AI',
    website: 'https://github.com/MoonshotAI/kimi-cli',
    install: 'npm install -g @moonshot-ai/kimi-code',
  },
  {
    name: 'cursor',
    title: 'Cursor CLI',
    command: 'cursor-agent',
    args: ['acp'],
    env: ['CURSOR_API_KEY'],
    vendor: 'Cursor',
    website: 'https://cursor.com/cli',
    install: 'See https://cursor.com/cli',
  },
  {
    name: 'claude',
    title: 'Claude (ACP)',
    command: 'claude-agent-acp',
    args: [],
    env: [
      'ANTHROPIC_API_KEY',
      'ANTHROPIC_AUTH_TOKEN',
      'ANTHROPIC_BASE_URL',
      'CLAUDE_CODE_OAUTH_TOKEN',
      'CLAUDE_CONFIG_DIR',
    ],
    vendor: 'Zed Industries',
    website: 'https://github.com/agentclientprotocol/claude-agent-acp',
    install: 'npm install -g @agentclientprotocol/claude-agent-acp',
    modes: CLAUDE_MODES,
    nativeSessions: CLAUDE_META.id,
    capabilities: { supportsReadOnly: true, supportsFork: true, supportsCostTracking: true },
  },
  {
    name: 'openai-codex',
    title: 'Codex (ACP)',
    command: 'codex-acp',
    args: [],
    env: ['OPENAI_API_KEY', 'CODEX_API_KEY', 'CODEX_HOME', 'OPENAI_BASE_URL'],
    vendor: 'Zed Industries',
    website: 'https://github.com/agentclientprotocol/codex-acp',
    install: 'npm install -g @agentclientprotocol/codex-acp',
    nativeSessions: CODEX_META.id,
    // Its other modes let a model decide what is asked.
    modes: { default: 'read-only', plan: 'read-only', bypassPermissions: 'agent-full-access' },
    capabilities: {
      supportsReadOnly: true,
      supportsFork: true,
      supportsSteering: true,
      supportsClientTools: false,
    },
  },
]
