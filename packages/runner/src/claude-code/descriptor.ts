import type {
  HarnessCapabilities,
  HarnessEnvironment,
  HarnessMeta,
  HarnessModel,
  HarnessVersions,
} from '@chirality/core'
import type { HarnessDescriptor, Trial } from '../harness-descriptor.ts'
import { testedReleases } from '../tested-releases.ts'

export const CLAUDE_CODE_ID = 'claude-code'

export const CLAUDE_VERSIONS: HarnessVersions = {
  tested: testedReleases(CLAUDE_CODE_ID, ['2.1.197', '2.1.325']),
  // The oldest release that `npm run test:versions` runs; 2.0.44 sends no permission requests.
  oldest: '2.1.9',
  update: 'Update it with `npm install -g @anthropic-ai/claude-code@latest`.',
}

/** Metrics, logs and traces that Claude Code sends to the user's own collector. */
const TELEMETRY_NAMES = [
  'CLAUDE_CODE_ENHANCED_TELEMETRY_BETA',
  'CLAUDE_CODE_OTEL_HEADERS_HELPER_DEBOUNCE_MS',
  'OTEL_METRICS_EXPORTER',
  'OTEL_LOGS_EXPORTER',
  'OTEL_TRACES_EXPORTER',
  ...['', 'METRICS_', 'LOGS_', 'TRACES_'].flatMap(signal =>
    ['PROTOCOL', 'ENDPOINT', 'HEADERS', 'CLIENT_KEY', 'CLIENT_CERTIFICATE', 'CERTIFICATE'].map(
      name => `OTEL_EXPORTER_OTLP_${signal}${name}`,
    ),
  ),
  'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE',
  'OTEL_METRIC_EXPORT_INTERVAL',
  'OTEL_LOGS_EXPORT_INTERVAL',
  'OTEL_TRACES_EXPORT_INTERVAL',
  'OTEL_LOG_USER_PROMPTS',
  'OTEL_LOG_TOOL_DETAILS',
  'OTEL_LOG_TOOL_CONTENT',
  'OTEL_METRICS_INCLUDE_SESSION_ID',
  'OTEL_METRICS_INCLUDE_VERSION',
  'OTEL_METRICS_INCLUDE_ACCOUNT_UUID',
  'OTEL_RESOURCE_ATTRIBUTES',
]

/** Shared with the harnesses that run Claude Code in another way. */
export const CLAUDE_ENVIRONMENT: HarnessEnvironment = {
  names: [
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_AUTH_TOKEN',
    'ANTHROPIC_BASE_URL',
    'ANTHROPIC_BETAS',
    'ANTHROPIC_CUSTOM_HEADERS',
    'ANTHROPIC_MODEL',
    'ANTHROPIC_SMALL_FAST_MODEL',
    'ANTHROPIC_DEFAULT_OPUS_MODEL',
    'ANTHROPIC_DEFAULT_SONNET_MODEL',
    'ANTHROPIC_DEFAULT_HAIKU_MODEL',
    'CLAUDE_CONFIG_DIR',
    'CLAUDE_CODE_OAUTH_TOKEN',
    'CLAUDE_CODE_SUBAGENT_MODEL',
    'CLAUDE_CODE_MAX_OUTPUT_TOKENS',
    'CLAUDE_CODE_MAX_RETRIES',
    'CLAUDE_CODE_TMPDIR',
    'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC',
    'CLAUDE_CODE_SUBPROCESS_ENV_SCRUB',
    'CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS',
    'CLAUDE_CODE_EMIT_TOOL_USE_SUMMARIES',
    'CLAUDE_CODE_CONTAINER_ID',
    'CLAUDE_CODE_USE_BEDROCK',
    'CLAUDE_CODE_USE_VERTEX',
    'CLAUDE_CODE_ENABLE_TELEMETRY',
    'API_TIMEOUT_MS',
    'BASH_DEFAULT_TIMEOUT_MS',
    'BASH_MAX_TIMEOUT_MS',
    'BASH_MAX_OUTPUT_LENGTH',
    'MAX_THINKING_TOKENS',
    'MAX_MCP_OUTPUT_TOKENS',
    'MCP_TIMEOUT',
    'MCP_TOOL_TIMEOUT',
    'ENABLE_TOOL_SEARCH',
    'DISABLE_AUTOUPDATER',
    'DISABLE_BUG_COMMAND',
    'DISABLE_COST_WARNINGS',
    'DISABLE_ERROR_REPORTING',
    'DISABLE_INTERLEAVED_THINKING',
    'DISABLE_NON_ESSENTIAL_MODEL_CALLS',
    'DISABLE_PROMPT_CACHING',
    'DISABLE_TELEMETRY',
  ],
  // Cloud credentials are passed on only if the user pays through that cloud, and the collector's address and its
  // credentials only if the user has this agent send it metrics: other programs use the same names.
  switched: [
    { switchName: 'CLAUDE_CODE_ENABLE_TELEMETRY', names: TELEMETRY_NAMES },
    {
      switchName: 'CLAUDE_CODE_USE_BEDROCK',
      names: [
        'ANTHROPIC_BEDROCK_BASE_URL',
        'ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION',
        'CLAUDE_CODE_SKIP_BEDROCK_AUTH',
        'AWS_REGION',
        'AWS_DEFAULT_REGION',
        'AWS_PROFILE',
        'AWS_CONFIG_FILE',
        'AWS_SHARED_CREDENTIALS_FILE',
        'AWS_ACCESS_KEY_ID',
        'AWS_SECRET_ACCESS_KEY',
        'AWS_SESSION_TOKEN',
        'AWS_BEARER_TOKEN_BEDROCK',
        'AWS_ROLE_ARN',
        'AWS_ROLE_SESSION_NAME',
        'AWS_WEB_IDENTITY_TOKEN_FILE',
        'AWS_CONTAINER_CREDENTIALS_FULL_URI',
        'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
        'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
      ],
    },
    {
      switchName: 'CLAUDE_CODE_USE_VERTEX',
      names: [
        'ANTHROPIC_VERTEX_BASE_URL',
        'ANTHROPIC_VERTEX_PROJECT_ID',
        'CLAUDE_CODE_SKIP_VERTEX_AUTH',
        'CLOUD_ML_REGION',
        'CLOUDSDK_CONFIG',
        'GOOGLE_APPLICATION_CREDENTIALS',
        'GOOGLE_CLOUD_PROJECT',
      ],
    },
  ],
}

export const CLAUDE_META: HarnessMeta = {
  id: CLAUDE_CODE_ID,
  name: 'Claude Code',
  vendor: 'Anthropic',
  website: 'https://docs.anthropic.com/en/docs/claude-code',
  install: 'npm install -g @anthropic-ai/claude-code',
  versions: CLAUDE_VERSIONS,
  login: { command: 'claude auth login', variable: 'ANTHROPIC_API_KEY' },
  environment: CLAUDE_ENVIRONMENT,
  nativeSessions: CLAUDE_CODE_ID,
}

/** Aliases that every release resolves by itself, so the list cannot become outdated; full names work as well. */
export const CLAUDE_MODELS: readonly HarnessModel[] = [
  { id: 'default', label: 'Default', isDefault: true },
  { id: 'opus', label: 'Opus' },
  { id: 'sonnet', label: 'Sonnet' },
  { id: 'haiku', label: 'Haiku' },
]

export const CLAUDE_CAPABILITIES: HarnessCapabilities = {
  supportsSystemPrompt: true,
  supportsAppendSystemPrompt: true,
  supportsReadOnly: true,
  supportsMcp: true,
  supportsResume: true,
  supportsFork: true,
  supportsForkAt: true,
  supportsClientTools: true,
  supportsStreamingTokens: true,
  supportsCostTracking: true,
  supportsNamedTools: true,
  supportsImages: true,
  // A process that exits after its turn cannot be answered: tools that are not allowed are denied.
  supportsDecisions: false,
  supportsSteering: false,
  supportsPrewarm: false,
  supportsMaxTurns: true,
  supportsBudget: true,
  supportsAutoMode: true,
  supportsCage: true,
}

/** The capabilities of an agent that is kept between turns. */
export const WARM_CAPABILITIES: HarnessCapabilities = {
  ...CLAUDE_CAPABILITIES,
  supportsDecisions: true,
  supportsSteering: true,
  supportsPrewarm: true,
}

/** Everything that runs Claude Code is pointed at another model in the same way. */
export const CLAUDE_TRIAL: Trial = {
  prepare: async ({ url, home }) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'sk-trial',
    CLAUDE_CODE_TMPDIR: `${home}/tmp`,
    CLAUDE_CODE_MAX_RETRIES: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
  }),
}

export const claudeCode: HarnessDescriptor = {
  trial: CLAUDE_TRIAL,
  meta: CLAUDE_META,
  capabilities: WARM_CAPABILITIES,
  create: async options => new (await import('./harness.ts')).ClaudeCodeHarness(options),
}
