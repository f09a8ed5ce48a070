import { describe, expect, test } from 'vitest'
import { SECRET_NAMES } from '../../test/support/secret-names.ts'
import { CLAUDE_ENVIRONMENT } from '../claude-code/descriptor.ts'
import { CODEX_ENVIRONMENT } from '../codex/descriptor.ts'
import { HARNESSES } from '../harnesses.ts'
import { BASE_NAMES, BASE_PREFIXES, PROXY_NAMES } from './allowed-names.ts'
import { buildChildEnv } from './child-env.ts'

const withValue = (names: readonly string[], value = 'value') =>
  Object.fromEntries(names.map(name => [name, value]))

describe('the allow-list', () => {
  // Whoever adds a name changes this test too, and so says that the name is safe.
  test('contains exactly these names', () => {
    expect([...BASE_NAMES, ...PROXY_NAMES].join(' ')).toBe(
      'PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM COLORTERM NO_COLOR TMPDIR XDG_CONFIG_HOME XDG_DATA_HOME ' +
        'XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR XDG_CONFIG_DIRS XDG_DATA_DIRS NODE_ENV NODE_OPTIONS ' +
        'NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR IS_SANDBOX NO_PROXY no_proxy SSH_AUTH_SOCK EDITOR VISUAL ' +
        'PAGER JAVA_HOME GOPATH GOROOT CARGO_HOME RUSTUP_HOME VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT NVM_DIR VOLTA_HOME ' +
        'PNPM_HOME BUN_INSTALL GEM_HOME RBENV_ROOT SDKMAN_DIR GRADLE_USER_HOME ANDROID_HOME DOTNET_ROOT HTTP_PROXY ' +
        'HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy',
    )
    expect(BASE_PREFIXES).toEqual(['LC_'])
  })

  test('passes what is on it and nothing else', () => {
    const source = withValue([...BASE_NAMES, 'LC_ALL', 'MY_EDITOR', 'MY_VARIABLE', 'path'])
    const { env, dropped } = buildChildEnv({ source })
    expect(env).toEqual(withValue([...BASE_NAMES, 'LC_ALL']))
    expect(dropped).toEqual(['MY_EDITOR', 'MY_VARIABLE', 'path'])
  })

  test('goes on with the names that the user lists, except what is reserved', () => {
    const names = ['MY_VARIABLE', 'NPM_TOKEN', 'LD_PRELOAD', 'OPENAI_API_KEY', 'OTHER', 'CHIRALITY_TOKEN']
    const source = {
      ...withValue(names),
      CHIRALITY_ALLOW_ENV: ' MY_VARIABLE,NPM_TOKEN LD_PRELOAD,, OPENAI_API_KEY CHIRALITY_TOKEN',
    }
    expect(buildChildEnv({ source, own: CLAUDE_ENVIRONMENT }).env).toEqual(
      withValue(['MY_VARIABLE', 'NPM_TOKEN']),
    )
  })

  test('does not change the source object', () => {
    const source = Object.freeze({ PATH: '/bin', TOKEN: 'x' })
    expect(buildChildEnv({ source, extra: { PATH: '/usr/bin' } }).env).toEqual({
      PATH: '/usr/bin',
    })
  })
})

describe('secrets', () => {
  const everyone = [
    ...HARNESSES.map(({ meta: { id, environment } }) => [id, environment] as const),
    ['no agent', undefined] as const,
  ]

  test.each(everyone)('none of the known names reaches %s', (_who, own) => {
    const source = { ...withValue(SECRET_NAMES, 'canary'), PATH: '/bin' }
    const { env, dropped } = buildChildEnv({ source, own })
    expect(env).toEqual({ PATH: '/bin' })
    expect(dropped).toHaveLength(SECRET_NAMES.length)
    expect(SECRET_NAMES.length).toBeGreaterThan(130)
  })

  test.each([
    ['a URL with a password', 'postgres://app:hunter2@db.example/app'],
    ['an Anthropic key', 'sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA'],
    ['a GitHub token', 'ghp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    ['a GitHub fine-grained token', 'github_pat_AAAAAAAAAAAAAAAAAAAAAA_BBBB'],
    ['a GitLab token', 'glpat-AAAAAAAAAAAAAAAAAAAA'],
    ['a Slack token', 'xoxb-123456789012-abcdef'],
    ['an AWS key', 'AKIAIOSFODNN7EXAMPLE'],
    ['a Google key', `AIza${'A'.repeat(35)}`],
    ['a private key', '-----BEGIN RSA PRIVATE KEY-----\nMIIE'],
    ['a JSON Web Token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.c2ln'],
  ])('%s is kept back even under an allowed name', (_what, value) => {
    const source = { LANG: value, NODE_OPTIONS: `--title=${value}`, LC_ALL: 'C' }
    expect(buildChildEnv({ source }).env).toEqual({ LC_ALL: 'C' })
  })

  test.each(['/usr/bin:/bin', 'en_GB.UTF-8', '--max-old-space-size=4096', '/home/a@b/bin', 'xterm-256color'])(
    'an ordinary value such as %s passes',
    value => {
      expect(buildChildEnv({ source: { PATH: value } }).env).toEqual({ PATH: value })
    },
  )
})

describe('proxies', () => {
  test.each([
    ['http://proxy.example:3128', 'http://proxy.example:3128'],
    ['http://user:pass@proxy.example:3128', 'http://proxy.example:3128'],
    ['http://user@proxy.example:3128/', 'http://proxy.example:3128/'],
    ['http://user:p@ss@proxy.example:3128', 'http://proxy.example:3128'],
    ['user:pass@proxy.example:3128', 'proxy.example:3128'],
    ['socks5h://u:p@[::1]:1080', 'socks5h://[::1]:1080'],
  ])('%s becomes %s', (value, passed) => {
    const { env } = buildChildEnv({ source: withValue(PROXY_NAMES, value) })
    expect(env).toEqual(withValue(PROXY_NAMES, passed))
  })
})

describe('credentials', () => {
  const source = withValue(
    HARNESSES.flatMap(({ meta }) => meta.environment?.names ?? []),
    '0',
  )

  test.each(HARNESSES.map(({ meta }) => [meta.id, meta.environment] as const))(
    '%s gets its own, whole, and none of the others, even if the user lists them',
    (_id, own) => {
      const expected = withValue(own?.names ?? [], '0')
      expect(buildChildEnv({ source, own }).env).toEqual(expected)
      expect(buildChildEnv({ source, own, allow: Object.keys(source) }).env).toEqual(expected)
    },
  )

  // Whoever adds a name changes this test too, and so says that no other agent may have it.
  test('the names of Codex are exactly these', () => {
    expect(CODEX_ENVIRONMENT.names).toEqual([
      'CODEX_HOME',
      'CODEX_API_KEY',
      'OPENAI_API_KEY',
      'OPENAI_BASE_URL',
    ])
  })

  test('without an agent no credential is passed', () => {
    expect(buildChildEnv({ source }).env).toEqual({})
  })

  test.each([...(CLAUDE_ENVIRONMENT.switched ?? [])])(
    'those of a cloud or a collector go along only with $switchName, and to no other agent',
    ({ switchName, names: cloudNames }) => {
      const cloud = withValue(cloudNames)
      const passed = (value: Record<string, string>) =>
        Object.keys(buildChildEnv({ source: { ...cloud, ...value }, own: CLAUDE_ENVIRONMENT }).env)
      expect(passed({ [switchName]: '1' })).toEqual([...cloudNames, switchName])
      expect(passed({ [switchName]: 'true' })).toEqual([...cloudNames, switchName])
      expect(passed({ [switchName]: '0' })).toEqual([switchName])
      expect(passed({})).toEqual([])
      expect(buildChildEnv({ source: { ...cloud, [switchName]: '1' }, own: CODEX_ENVIRONMENT }).env).toEqual(
        {},
      )
    },
  )
})

describe('allow', () => {
  test('passes what the user names, secret or not', () => {
    const source = { NPM_TOKEN: 'x', SSH_AUTH_SOCK: '/run/agent', OTHER_TOKEN: 'y' }
    const { env } = buildChildEnv({ source, allow: ['NPM_TOKEN', 'SSH_AUTH_SOCK'] })
    expect(env).toEqual({ NPM_TOKEN: 'x', SSH_AUTH_SOCK: '/run/agent' })
  })

  test('an allowed name is matched literally, not as a pattern', () => {
    const { env } = buildChildEnv({
      source: { A_TOKEN: 'x' },
      allow: ['*', 'A_*', 'a_token'],
    })
    expect(env).toEqual({})
  })

  test("never hands over another agent's key, our own settings, or a loader", () => {
    const allow = ['OPENAI_API_KEY', 'CHIRALITY_TOKEN', 'LD_PRELOAD', 'DYLD_INSERT_LIBRARIES']
    expect(buildChildEnv({ source: withValue(allow), own: CLAUDE_ENVIRONMENT, allow }).env).toEqual({})
    const claude = ['ANTHROPIC_API_KEY']
    expect(buildChildEnv({ source: withValue(claude), own: CODEX_ENVIRONMENT, allow: claude }).env).toEqual(
      {},
    )
  })
})

describe('extra', () => {
  test('an extra variable overrides the source and the filters', () => {
    const { env } = buildChildEnv({
      source: { PATH: '/bin', ANTHROPIC_API_KEY: 'old' },
      own: CLAUDE_ENVIRONMENT,
      extra: { PATH: '/opt/bin', ANTHROPIC_API_KEY: 'new', MY_TOKEN: 't' },
    })
    expect(env).toEqual({ PATH: '/opt/bin', ANTHROPIC_API_KEY: 'new', MY_TOKEN: 't' })
  })

  test("cannot set Chirality's own variables", () => {
    const extra = { CHIRALITY_RUN: 'forged', CHIRALITY_TOKEN: 'x' }
    expect(buildChildEnv({ source: {}, extra }).env).toEqual({})
  })
})

describe('variables that the system refuses', () => {
  test('a NUL or a broken name is left out, so that the spawn works', () => {
    const source = { LANG: 'a\0b', 'LC_A=B': 'x', 'LC_\0': 'x', PATH: '/bin' }
    const extra = { ONE: 'a\0b', '': 'x', 'A=B': 'x', TWO: '2' }
    const { env } = buildChildEnv({ source, extra })
    expect(env).toEqual({ PATH: '/bin', TWO: '2' })
  })

  test('a variable named __proto__ is a variable', () => {
    const source = JSON.parse('{"__proto__":"x","PATH":"/bin"}') as Record<string, string>
    const { env } = buildChildEnv({ source, allow: ['__proto__'] })
    expect(Object.entries(env)).toEqual([
      ['__proto__', 'x'],
      ['PATH', '/bin'],
    ])
  })
})

test('the marker of the run is passed on', () => {
  const source = { CHIRALITY_RUN: 'aaaaaaaa-outer', CHIRALITY_RUNNER: 'x' }
  expect(buildChildEnv({ source }).env).toEqual({ CHIRALITY_RUN: 'aaaaaaaa-outer' })
})
