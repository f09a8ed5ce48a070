/**
 * Whether a path names a file that grants permissions, or that runs later by itself with the user's rights: an agent
 * that may write it unasked may do anything. Matched by name, in any case, anywhere in the path.
 */
export function isProtectedPath(path: string): boolean {
  return path.split(/[\\/]/).some(isProtectedName)
}

export function isProtectedName(name: string): boolean {
  const folded = name.normalize('NFKC').toLowerCase()
  return PROTECTED.has(folded) || PERSONA_OR_POLICY.test(folded)
}

const PROTECTED: ReadonlySet<string> = new Set([
  // Agents and Chirality itself
  '.agents',
  '.chirality',
  '.claude',
  '.claude.json',
  '.codex',
  '.mcp.json',
  // Version control, and the hooks around it
  '.git',
  '.gitattributes',
  '.gitconfig',
  '.githooks',
  '.gitmodules',
  '.hg',
  '.husky',
  '.lefthook',
  '.pre-commit-config.yaml',
  '.svn',
  'lefthook.yml',
  // Editors, containers and CI
  '.cursor',
  '.devcontainer',
  '.github',
  '.gitlab-ci.yml',
  '.idea',
  '.vscode',
  // Shells, and what they load when a folder is entered
  '.bash_login',
  '.bash_logout',
  '.bash_profile',
  '.bashrc',
  '.direnv',
  '.envrc',
  '.mise.toml',
  '.profile',
  '.ssh',
  '.zlogin',
  '.zprofile',
  '.zshenv',
  '.zshrc',
  'mise.toml',
  // Package managers that run what their settings name
  '.npmrc',
  '.pnpmfile.cjs',
  '.yarnrc',
  '.yarnrc.yml',
])

/** `AGENT_X.md`, `global.policy`. */
const PERSONA_OR_POLICY = /^agent_.*\.md$|\.policy$/
