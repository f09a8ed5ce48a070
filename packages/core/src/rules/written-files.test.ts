import { expect, test } from 'vitest'
import { writtenFiles } from './written-files.ts'

test.each([
  ['echo x > .envrc', ['.envrc']],
  ['echo x >> .envrc', ['.envrc']],
  ['echo x >| .envrc', ['.envrc']],
  ['echo x>.envrc', ['.envrc']],
  ['make &> .mcp.json', ['.mcp.json']],
  ['echo x > "agents/AGENT_A.md"', ['agents/AGENT_A.md']],
  ["/bin/bash -lc 'echo x > .envrc'", ['.envrc']],
  ['cat <<EOF > .claude/settings.json\n{}\nEOF', ['.claude/settings.json']],
  ['echo x | tee -a .envrc', ['.envrc']],
  ['echo x | sudo tee .envrc', ['.envrc']],
  ["sed -i 's/a/b/' .envrc", ['s/a/b/', '.envrc']],
  ["sed -i.bak -e 's/a/b/' .envrc", ['s/a/b/', '.envrc']],
  ["perl -pi -e 's/a/b/' .envrc", ['s/a/b/', '.envrc']],
  ['cp a .claude/settings.json', ['.claude/settings.json']],
  ['cp -t .claude a b', ['.claude']],
  ['mv a .git/hooks/pre-commit', ['a', '.git/hooks/pre-commit']],
  ['ln -s ../evil .git/hooks/post-merge', ['.git/hooks/post-merge']],
  ['chmod +x .git/hooks/pre-commit', ['+x', '.git/hooks/pre-commit']],
  ['dd if=a of=.envrc', ['.envrc']],
  ['curl -so .envrc http://a/b', ['.envrc']],
  ['ls && (cd x; touch .envrc)', ['.envrc']],
])('%j', (command, files) => {
  expect(writtenFiles(command).files).toEqual(expect.arrayContaining(files))
})

test.each([
  'cat .envrc',
  'ls .claude',
  'cp .envrc /tmp/x',
  "sed -n '1p' .envrc",
  'grep -r x .git',
  'make 2>&1',
  'git status',
])('%j writes none of them', command => {
  expect(writtenFiles(command).files.filter(file => /envrc|claude|\.git/.test(file))).toEqual([])
})

test('the folder that it goes to first is told', () => {
  expect(writtenFiles('cd .claude && echo x > settings.json')).toEqual({
    files: ['settings.json'],
    folders: ['.claude'],
  })
})
