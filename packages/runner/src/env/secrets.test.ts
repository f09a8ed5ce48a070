import { describe, expect, test } from 'vitest'
import { SECRET_NAMES } from '../../test/support/secret-names.ts'
import { CLAUDE_ENVIRONMENT } from '../claude-code/descriptor.ts'
import { redactArgs, secretValues } from './secrets.ts'

/** Names in the list that load code or say where something is, and hold no secret themselves. */
const NO_SECRET = new Set(
  'BASH_ENV DYLD_INSERT_LIBRARIES GIT_ASKPASS GIT_SSH_COMMAND GOOGLE_APPLICATION_CREDENTIALS KUBECONFIG LD_LIBRARY_PATH LD_PRELOAD NETRC PGPASSFILE PYTHONSTARTUP RUBYOPT SSH_ASKPASS SUDO_ASKPASS CHIRALITY_HOME CHIRALITY_CLAUDE_BIN CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SSE_PORT CLAUDE_CODE_SESSION_ID'.split(
    ' ',
  ),
)

describe('values that exports must not contain', () => {
  const names = SECRET_NAMES.filter(name => !NO_SECRET.has(name))

  const kept = (name: string, value: string) => secretValues({ [name]: value })[0] !== value

  test('the value of a variable named like a secret, even if it looks like words', () => {
    expect(names.filter(name => kept(name, 'tuesday afternoon'))).toEqual([])
  })

  test('a value that is no word, whatever it is called', () => {
    const all = [...names, 'SOMETHING_ELSE', 'GRAFANA']
    expect(all.filter(name => kept(name, '9f8e7d6c5b4a39281706'))).toEqual([])
  })

  test('the password of a proxy, and not its address', () => {
    expect(secretValues({ HTTPS_PROXY: 'http://me:hunter22@proxy.example:3128' })).toEqual(['hunter22'])
    expect(secretValues({ HTTPS_PROXY: 'http://proxy.example:3128' })).toEqual([])
  })
})

describe('values that are not secret', () => {
  test.each(
    Object.entries({
      PATH: '/usr/local/sbin:/usr/bin',
      PWD: '/home/somebody/work/chirality2',
      OLDPWD: '/home/somebody',
      _: '/usr/bin/node20',
      HOME: '/home/somebody',
      MY_FOLDER: '/srv/data/2026',
      KEYS_PATH: './keys/2026',
      npm_package_name: 'chirality-monorepo-2026',
      npm_config_registry: 'https://registry.example/2026/',
      npm_config_user_agent: 'npm/10.8.2 node/v20.20.2 linux x64',
      ANTHROPIC_MODEL: 'claude-sonnet-5-5-20261001',
      ANTHROPIC_BASE_URL: 'https://api.example/v1/messages',
      AWS_REGION: 'eu-central-1-and-more-2',
      LC_ALL: 'en_GB.UTF-8',
      LS_COLORS: 'rs=0:di=01;34:ln=01;36',
      TERM_PROGRAM_VERSION: '3.5.0beta18abcdefgh',
      XDG_SESSION_ID: 'c1234567890123456',
      GREETING: 'good morning everybody',
      SHORT: 'a1b2c3',
    }),
  )('%s=%s', (name, value) => {
    expect(secretValues({ [name]: value })).toEqual([])
  })

  test('settings of the agents, but not their keys', () => {
    const keys = CLAUDE_ENVIRONMENT.names.filter(
      name => secretValues({ [name]: 'tuesday afternoon' }).length > 0,
    )
    expect(keys).toEqual([
      'ANTHROPIC_API_KEY',
      'ANTHROPIC_AUTH_TOKEN',
      'ANTHROPIC_CUSTOM_HEADERS',
      'CLAUDE_CODE_OAUTH_TOKEN',
    ])
  })
})

test.each([
  ['--model', '--model'],
  ['model="gpt-5.5"', 'model="gpt-5.5"'],
  ['bearer_token_env_var="TOK"', 'bearer_token_env_var="TOK"'],
  ['model_providers.x.api_key="s3cret"', 'model_providers.x.api_key=[redacted]'],
  [
    'mcp_servers.x.http_headers={ "Authorization" = "Bearer sk-ant-0123456789abcdef" }',
    'mcp_servers.x.http_headers=[redacted]',
  ],
  ['sk-ant-0123456789abcdefgh', '[redacted]'],
  [`//127.0.0.1/:_auth=npm_${'a1'.repeat(18)}`, '//127.0.0.1/:_auth=[redacted]'],
  ['http://user:word@127.0.0.1:1/v1', '[redacted]'],
])('%s is logged as %s', (argument, logged) => {
  expect(redactArgs([argument])).toEqual([logged])
})
