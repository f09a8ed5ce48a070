import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type {
  HarnessCapabilities,
  HarnessEnvironment,
  HarnessMeta,
  HarnessModel,
  HarnessVersions,
  ThinkingLevel,
} from '@chirality/core'
import type { HarnessDescriptor, TrialPlace } from '../harness-descriptor.ts'
import { testedReleases } from '../tested-releases.ts'

export const CODEX_ID = 'codex'

export const CODEX_VERSIONS: HarnessVersions = {
  tested: testedReleases(CODEX_ID, ['0.166.0']),
  oldest: '0.122.0',
  update: 'Update it with `npm install -g @openai/codex@latest`.',
}

export const CODEX_ENVIRONMENT: HarnessEnvironment = {
  names: ['CODEX_HOME', 'CODEX_API_KEY', 'OPENAI_API_KEY', 'OPENAI_BASE_URL'],
}

export const CODEX_META: HarnessMeta = {
  id: CODEX_ID,
  name: 'Codex',
  vendor: 'OpenAI',
  website: 'https://developers.openai.com/codex',
  install: 'npm install -g @openai/codex',
  versions: CODEX_VERSIONS,
  login: { command: 'codex login', variable: 'CODEX_API_KEY' },
  environment: CODEX_ENVIRONMENT,
  nativeSessions: CODEX_ID,
}

/** The catalogue of the tested release; other names are passed on unchanged. */
export const CODEX_MODELS: readonly HarnessModel[] = [
  { id: 'gpt-6.1-sol', label: 'GPT-6.1 Sol', isDefault: true },
  { id: 'gpt-6-astra', label: 'GPT-6 Astra' },
  { id: 'gpt-6.1-terra', label: 'GPT-6.1 Terra' },
  { id: 'gpt-6-sol', label: 'GPT-6 Sol' },
  { id: 'gpt-6-luna', label: 'GPT-6 Luna' },
  { id: 'gpt-5.6-sol', label: 'GPT-5.6 Sol' },
  { id: 'gpt-5.6-terra', label: 'GPT-5.6 Terra' },
  { id: 'gpt-5.6-luna', label: 'GPT-5.6 Luna' },
  { id: 'gpt-5.5', label: 'GPT-5.5' },
]

/** The capabilities of the app-server, which is tried first. */
export const CODEX_CAPABILITIES: HarnessCapabilities = {
  supportsSystemPrompt: true,
  supportsAppendSystemPrompt: true,
  supportsReadOnly: true,
  supportsMcp: true,
  supportsResume: true,
  supportsFork: true,
  supportsForkAt: true,
  supportsClientTools: true,
  supportsStreamingTokens: true,
  // A query is one `exec`, which prints only whole messages.
  streamsTokensInQuery: false,
  supportsCostTracking: false,
  supportsNamedTools: false,
  supportsImages: true,
  supportsDecisions: true,
  supportsSteering: true,
  supportsPrewarm: true,
  supportsMaxTurns: false,
  supportsBudget: false,
}

/** `exec` prints only whole messages, and sends no permission requests. */
export const EXEC_CAPABILITIES: HarnessCapabilities = {
  ...CODEX_CAPABILITIES,
  supportsForkAt: false,
  supportsStreamingTokens: false,
  supportsDecisions: false,
  supportsSteering: false,
  supportsPrewarm: false,
}

/** Codex does not check the value, so only known ones may be passed. `ultracode` is refused before. */
export const CODEX_EFFORT: Partial<Record<ThinkingLevel, string>> = {
  low: 'low',
  med: 'medium',
  // As the specification has it.
  high: 'xhigh',
  xhigh: 'xhigh',
  max: 'max',
}

/** Settings that point Codex at another model: it takes the address from nowhere else. */
export async function writeTrialConfig({ home, openaiUrl }: TrialPlace, model: string): Promise<void> {
  const folder = path.join(home, '.codex')
  await mkdir(folder, { recursive: true })
  const lines = [
    `model = "${model}"`,
    'model_provider = "trial"',
    '[model_providers.trial]',
    'name = "trial"',
    `base_url = "${openaiUrl}"`,
    'env_key = "OPENAI_API_KEY"',
    'wire_api = "responses"',
    'request_max_retries = 1',
  ]
  await writeFile(path.join(folder, 'config.toml'), `${lines.join('\n')}\n`)
}

export const codex: HarnessDescriptor = {
  trial: {
    prepare: async place => {
      // A name that no release knows: each gives it the tools that all of them have.
      await writeTrialConfig(place, 'trial')
      return { OPENAI_API_KEY: 'sk-trial' }
    },
    // What stays in the sandbox runs unasked.
    asking: { sandbox_permissions: 'require_escalated', justification: 'A trial.' },
  },
  meta: CODEX_META,
  capabilities: CODEX_CAPABILITIES,
  create: async options => new (await import('./harness.ts')).CodexHarness(options),
}
