import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { CLAUDE_TRIAL } from '../claude-code/descriptor.ts'
import { codex, writeTrialConfig } from '../codex/descriptor.ts'
import type { Trial } from '../harness-descriptor.ts'

/** How an agent of this name is tried offline. One of which nothing is known gets the variables that most agents read. */
export function acpTrial(name: string): Trial {
  return TRIALS[name] ?? ANY
}

const KEY = 'sk-trial'

const ANY: Trial = {
  prepare: async place => ({
    ...(await CLAUDE_TRIAL.prepare(place)),
    OPENAI_API_KEY: KEY,
    OPENAI_BASE_URL: place.openaiUrl,
    GEMINI_API_KEY: KEY,
    GOOGLE_GEMINI_BASE_URL: place.url,
  }),
}

const TRIALS: Record<string, Trial> = {
  claude: CLAUDE_TRIAL,
  'openai-codex': {
    ...codex.trial,
    prepare: async place => {
      // It offers only models that it knows.
      await writeTrialConfig(place, 'gpt-5.5')
      return { OPENAI_API_KEY: KEY }
    },
  },
  opencode: {
    prepare: async ({ url, home }) => {
      const model = 'anthropic/claude-sonnet-4-5'
      const options = { baseURL: `${url}/v1`, apiKey: KEY }
      await writeJson(path.join(home, '.config', 'opencode', 'opencode.json'), {
        model,
        small_model: model,
        autoupdate: false,
        share: 'disabled',
        permission: { bash: 'ask', edit: 'ask' },
        provider: { anthropic: { options } },
      })
      return {
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        // At every start it installs a package for plugins from the registry. It works without.
        npm_config_offline: 'true',
      }
    },
  },
  copilot: {
    prepare: async ({ openaiUrl }) => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_AUTO_UPDATE: 'false',
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_BASE_URL: openaiUrl,
      COPILOT_PROVIDER_API_KEY: KEY,
      COPILOT_MODEL: 'gpt-4.1',
    }),
  },
  qwen: {
    prepare: async ({ openaiUrl, home }) => {
      await writeJson(path.join(home, '.qwen', 'settings.json'), {
        security: { auth: { selectedType: 'openai' } },
        privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true },
      })
      return { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: openaiUrl, OPENAI_MODEL: 'qwen3-coder-plus' }
    },
  },
  gemini: {
    prepare: async ({ url, home }) => {
      await writeJson(path.join(home, '.gemini', 'settings.json'), {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true, enableAutoUpdate: false },
      })
      return { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: url }
    },
  },
}

async function writeJson(file: string, value: unknown): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, `${JSON.stringify(value, null, 2)}\n`)
}
