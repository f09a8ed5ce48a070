import { expect, test } from 'vitest'
import { claudeEnv, codexArgs } from './agent-env.ts'

test('Claude Code gets this environment and nothing else', () => {
  expect(claudeEnv({ url: 'http://127.0.0.1:9' }, '/h')).toEqual({
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: '/h',
    TMPDIR: '/h/tmp',
    CLAUDE_CODE_TMPDIR: '/h/tmp',
    XDG_RUNTIME_DIR: '/h/tmp',
    ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
    ANTHROPIC_API_KEY: 'sk-scripted-model',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
  })
})

test('Codex gets a model provider of its own, and the key that it names', () => {
  expect(codexArgs({ openaiUrl: 'http://127.0.0.1:9/v1' })).toEqual({
    args: [
      '-c',
      'model_provider="scripted"',
      '-c',
      'model_providers.scripted.name="scripted"',
      '-c',
      'model_providers.scripted.base_url="http://127.0.0.1:9/v1"',
      '-c',
      'model_providers.scripted.wire_api="responses"',
      '-c',
      'model_providers.scripted.env_key="SCRIPTED_MODEL_KEY"',
    ],
    env: { SCRIPTED_MODEL_KEY: 'sk-scripted-model' },
  })
})
