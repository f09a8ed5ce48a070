// The variables that a child process may receive; all others are dropped.

export const BASE_NAMES = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TERM',
  'COLORTERM',
  'NO_COLOR',
  'TMPDIR',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_CACHE_HOME',
  'XDG_STATE_HOME',
  'XDG_RUNTIME_DIR',
  'XDG_CONFIG_DIRS',
  'XDG_DATA_DIRS',
  'NODE_ENV',
  'NODE_OPTIONS',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'IS_SANDBOX',
  'NO_PROXY',
  'no_proxy',
  // The locations of keys, editors and toolchains. The socket of an SSH agent signs, but reveals no key.
  'SSH_AUTH_SOCK',
  'EDITOR',
  'VISUAL',
  'PAGER',
  'JAVA_HOME',
  'GOPATH',
  'GOROOT',
  'CARGO_HOME',
  'RUSTUP_HOME',
  'VIRTUAL_ENV',
  'CONDA_PREFIX',
  'PYENV_ROOT',
  'NVM_DIR',
  'VOLTA_HOME',
  'PNPM_HOME',
  'BUN_INSTALL',
  'GEM_HOME',
  'RBENV_ROOT',
  'SDKMAN_DIR',
  'GRADLE_USER_HOME',
  'ANDROID_HOME',
  'DOTNET_ROOT',
]

/** The user's own list of variables for every agent, separated by commas or spaces. */
export const ALLOW_VARIABLE = 'CHIRALITY_ALLOW_ENV'

export const BASE_PREFIXES = ['LC_']

/** Passed without user name and password. */
export const PROXY_NAMES = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
]
