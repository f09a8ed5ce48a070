import { expect, test } from 'vitest'
import { isProtectedPath } from './protected-files.ts'

test.each([
  'agents/AGENT_HELP.md',
  '/home/dev/project/agents/agent_x.MD',
  '.claude/settings.json',
  'sub/.claude/settings.local.json',
  '.mcp.json',
  '.envrc',
  '.git/hooks/pre-commit',
  '.GIT/config',
  '.husky/pre-commit',
  '.vscode/tasks.json',
  '.chirality/state/budget.json',
  '.chirality/policy',
  '.github/workflows/ci.yml',
  '/home/dev/.bashrc',
  'team.policy',
])('%s is protected', path => expect(isProtectedPath(path)).toBe(true))

test.each(['src/a.ts', 'agents/README.md', 'docs/git.md', 'gitignore', '.gitignore', 'README.md', ''])(
  '%j is not',
  path => expect(isProtectedPath(path)).toBe(false),
)
