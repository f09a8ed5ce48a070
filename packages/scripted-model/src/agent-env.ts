import path from 'node:path'
import type { ScriptedModel } from './scripted-model.ts'

export type ModelEndpoint = Pick<ScriptedModel, 'url' | 'openaiUrl'>

/**
 * The whole environment of a Claude Code that talks to the scripted model and to nothing else.
 * `home` is a folder of its own, with a `tmp` folder in it.
 */
export function claudeEnv(model: Pick<ModelEndpoint, 'url'>, home: string): Record<string, string> {
  return {
    ...bareEnv(home),
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'sk-scripted-model',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
  }
}

/** The leading arguments and the environment that point Codex at the scripted model. */
export function codexArgs(model: Pick<ModelEndpoint, 'openaiUrl'>): {
  args: string[]
  env: Record<string, string>
} {
  const overrides = [
    'model_provider="scripted"',
    'model_providers.scripted.name="scripted"',
    `model_providers.scripted.base_url="${model.openaiUrl}"`,
    'model_providers.scripted.wire_api="responses"',
    'model_providers.scripted.env_key="SCRIPTED_MODEL_KEY"',
  ]
  return {
    args: overrides.flatMap(override => ['-c', override]),
    env: { SCRIPTED_MODEL_KEY: 'sk-scripted-model' },
  }
}

/** All temporary places inside `home`: Claude Code puts sockets and task output there. */
function bareEnv(home: string): Record<string, string> {
  const temporary = path.join(home, 'tmp')
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: home,
    TMPDIR: temporary,
    CLAUDE_CODE_TMPDIR: temporary,
    XDG_RUNTIME_DIR: temporary,
  }
}
