import { hasCode } from '@chirality/core'
import type { ChangedFile, GitStatus } from './changes.ts'
import { findRepository } from './find-repository.ts'
import { git } from './git.ts'

/** The changes since the last commit, or null without a git repository. */
export async function gitStatus(root: string): Promise<GitStatus | null> {
  const repository = await findRepository(root)
  if (repository === undefined) return null
  const run = (untracked: 'all' | 'normal') => {
    const options = [`--untracked-files=${untracked}`, '--ignore-submodules=all', '--branch', '-z']
    return git(repository, ['status', '--porcelain=v2', ...options, '--', repository.prefix || '.'])
  }
  // Reports a folder with a million new files as one entry.
  const output = await run('all').catch((error: unknown) => {
    if (hasCode(error, 'too-large')) return run('normal')
    throw error
  })
  return parseStatus(output.toString('utf8'), repository.prefix)
}

export function parseStatus(text: string, prefix = ''): GitStatus {
  const status: GitStatus = { branch: null, commit: null, ahead: 0, behind: 0, files: [] }
  const words = text.split('\0')
  const inProject = (file: string) =>
    prefix !== '' && file.startsWith(`${prefix}/`) ? file.slice(prefix.length + 1) : file
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] ?? ''
    switch (word[0]) {
      case '#':
        readHeader(status, word)
        break
      case '1':
      case 'u':
        status.files.push(entry(word, inProject(fieldsAfter(word, word[0] === '1' ? 8 : 10))))
        break
      case '2':
        // The old name is a separate field.
        i += 1
        status.files.push({
          ...entry(word, inProject(fieldsAfter(word, 9))),
          renamedFrom: inProject(words[i] ?? ''),
        })
        break
      case '?':
        status.files.push({ path: inProject(word.slice(2)), index: '?', worktree: '?' })
        break
    }
  }
  return status
}

function readHeader(status: GitStatus, line: string): void {
  const [, name, ...values] = line.split(' ')
  const value = values.join(' ')
  if (name === 'branch.head') status.branch = value === '(detached)' ? null : value
  if (name === 'branch.oid') status.commit = value === '(initial)' ? null : value
  if (name === 'branch.ab') {
    const [ahead, behind] = /^\+(\d+) -(\d+)$/.exec(value)?.slice(1).map(Number) ?? []
    status.ahead = ahead ?? 0
    status.behind = behind ?? 0
  }
}

function entry(line: string, file: string): ChangedFile {
  return { path: file, index: line[2] ?? '.', worktree: line[3] ?? '.' }
}

/** The path follows after this many fields, and may contain spaces. */
function fieldsAfter(line: string, count: number): string {
  return line.split(' ').slice(count).join(' ')
}
