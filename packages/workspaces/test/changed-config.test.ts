import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  commitFiles,
  findRepository,
  type GitRepository,
  git,
  gitStatus,
  mergeIntoBase,
  planPush,
  rebaseOnBase,
  stageFiles,
  takeConflicts,
  takeSnapshot,
  type Worktree,
  Worktrees,
} from '../src/index.ts'
import { keepWork } from '../src/worktrees/kept-work.ts'

let home: string
let repository: Repository
let folder: string
let opened: GitRepository
let canary: string
let program: string
let branch: string
let worktree: Worktree

beforeEach(async () => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-config-')))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  canary = path.join(home, 'ran')
  program = path.join(home, 'evil.sh')
  writeFileSync(program, `#!/bin/sh\necho "$0 $@" >> ${canary}; cat\n`)
  chmodSync(program, 0o755)
  repository = initRepository(path.join(home, 'shop'))
  repository.run('config', 'user.name', 'A User')
  repository.run('config', 'user.email', 'user@example')
  repository.write('a.txt', 'one\ntwo\nthree\n')
  repository.write('b.txt', 'b\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  const worktrees = new Worktrees(path.join(home, 'data'))
  worktree = (await worktrees.make({ projectRoot: repository.root, title: 'work' })).worktree
  // So that there is something to merge.
  repository.write('b.txt', 'B\n')
  repository.run('commit', '-qam', 'second')
  folder = worktree.folder
  branch = worktree.branch
  const found = await findRepository(folder)
  if (found === undefined) throw new Error('no repository')
  opened = found
  // Asked before the agent begins: what is known from now on is what the config was then.
  await git(opened, ['status', '--porcelain'])
})

const inTree = (...args: string[]) => repository.run('-C', folder, ...args)
const write = (file: string, content: string) => writeFileSync(path.join(folder, file), content)

function attributes(): void {
  write('.gitattributes', '* filter=e diff=e merge=e\n')
}

/** A config of the agent's own, with everything in it that names a program. */
function hostile(): string {
  const named = [
    ['filter "e"', 'clean', 'smudge', 'process'],
    ['diff "e"', 'textconv', 'command'],
    ['merge "e"', 'driver'],
    ['core', 'fsmonitor', 'sshCommand', 'editor', 'pager', 'alternateRefsCommand', 'askPass'],
    ['credential', 'helper'],
    ['gpg', 'program'],
    ['sequence', 'editor'],
    ['diff', 'external'],
    ['uploadpack', 'packObjectsHook'],
    ['submodule "s"', 'update'],
    ['lfs "extension.e"', 'clean', 'smudge'],
  ]
  const sections = named.map(
    ([section, ...keys]) => `[${section}]\n${keys.map(key => `\t${key} = ${program}\n`).join('')}`,
  )
  return `${sections.join('')}[filter "e"]\n\trequired = true\n[commit]\n\tgpgSign = true\n`
}

const WAYS: [string, () => void][] = [
  ['the config of the repository', () => repository.run('config', 'filter.e.clean', program)],
  [
    'a config that is written whole',
    () => writeFileSync(path.join(repository.root, '.git/config'), `${readConfig()}${hostile()}`),
  ],
  [
    'a file that the config includes',
    () => {
      writeFileSync(path.join(home, 'more'), hostile())
      repository.run('config', 'include.path', path.join(home, 'more'))
    },
  ],
  [
    'a file that is included on a branch, and comes later',
    () => {
      repository.run('config', `includeIf.onbranch:**.path`, path.join(home, 'later'))
      writeFileSync(path.join(home, 'later'), hostile())
    },
  ],
  [
    'the config of the work tree',
    () => {
      repository.run('config', 'extensions.worktreeConfig', 'true')
      inTree('config', '--worktree', 'filter.e.clean', program)
      inTree('config', '--worktree', 'filter.e.smudge', program)
    },
  ],
  [
    'attributes of the repository itself',
    () => {
      repository.run('config', 'filter.e.clean', program)
      mkdirSync(path.join(repository.root, '.git/info'), { recursive: true })
      writeFileSync(path.join(repository.root, '.git/info/attributes'), '* filter=e diff=e merge=e\n')
    },
  ],
  [
    'attributes of a file that the config names',
    () => {
      repository.run('config', 'filter.e.clean', program)
      writeFileSync(path.join(home, 'attributes'), '* filter=e diff=e merge=e\n')
      repository.run('config', 'core.attributesFile', path.join(home, 'attributes'))
    },
  ],
  [
    'another repository that .git names',
    () => {
      const own = path.join(home, 'own')
      repository.run('clone', '-q', '--bare', repository.root, own)
      writeFileSync(path.join(own, 'config'), `[core]\n\tbare = false\n${hostile()}`)
      writeFileSync(path.join(folder, '.git'), `gitdir: ${own}\n`)
    },
  ],
  [
    'another common folder',
    () => {
      const own = path.join(home, 'own')
      repository.run('clone', '-q', '--bare', repository.root, own)
      writeFileSync(path.join(own, 'config'), `[core]\n\tbare = false\n${hostile()}`)
      const place = inTree('rev-parse', '--absolute-git-dir').trim()
      writeFileSync(path.join(place, 'commondir'), `${own}\n`)
    },
  ],
  [
    'a nested repository, with a config of its own',
    () => {
      const within = path.join(folder, 'within')
      mkdirSync(within)
      const nested = (...args: string[]) => repository.run('-C', within, ...args)
      nested('init', '-q')
      writeFileSync(path.join(within, 'c.txt'), 'c\n')
      nested('add', '.')
      nested('-c', 'user.name=A', '-c', 'user.email=a@example', 'commit', '-qm', 'within')
      inTree('add', 'within')
      inTree('commit', '-qm', 'within')
      writeFileSync(path.join(within, '.git/config'), `[core]\n\tbare = false\n${hostile()}`)
      writeFileSync(path.join(within, '.gitattributes'), '* filter=e diff=e merge=e\n')
      writeFileSync(path.join(within, 'c.txt'), 'C\n')
      write('.gitmodules', '[submodule "within"]\n\tpath = within\n\turl = ./within\n\tignore = none\n')
      repository.run('config', 'submodule.within.ignore', 'none')
      repository.run('config', 'diff.ignoreSubmodules', 'none')
      repository.run('config', 'status.submoduleSummary', 'true')
    },
  ],
]

const readConfig = () =>
  repository.run('config', '--list').split('\n').length > 0
    ? '[core]\n\trepositoryformatversion = 0\n[user]\n\tname = A User\n\temail = user@example\n'
    : ''

test.each(WAYS)('settings that an agent writes while it works run nothing: %s', async (_name, configure) => {
  configure()
  attributes()
  write('a.txt', 'ONE\ntwo\nthree\n')
  write('new.txt', 'new\n')
  rmSync(canary, { force: true })
  const stateFolder = path.join(home, 'state')
  mkdirSync(stateFolder)
  const steps: (() => Promise<unknown>)[] = [
    () => takeSnapshot(opened, stateFolder),
    () => stageFiles(opened, '--all'),
    () => gitStatus(folder),
    () => keepWork(worktree, opened),
    () => commitFiles(opened, folder, { message: 'work' }),
    () => git(opened, ['restore', '--source=HEAD~1', '--staged', '--worktree', '--', 'a.txt']),
    () => git(opened, ['blame', '--porcelain', '--no-textconv', 'b.txt']),
    () => git(opened, ['checkout', '--force', 'HEAD', '--', '.']),
    () => takeConflicts(opened, { branch, base: 'main' }),
    () => rebaseOnBase(opened, { branch, base: 'main' }),
    () => mergeIntoBase(opened, { branch, base: 'main', how: 'merge', message: 'Merge' }),
    () => planPush(opened, { branch }),
  ]
  // A repository of the agent's own may refuse some of them; what counts is that nothing runs.
  for (const [index, step] of steps.entries()) {
    await step().catch(() => undefined)
    expect(existsSync(canary) ? `step ${index}: ${readFileSync(canary, 'utf8')}` : '').toBe('')
  }
})

test('the config is read again only when it changed', async () => {
  const settings = async () =>
    (await git(opened, ['config', '--get', 'filter.e.clean'], { okCodes: [0, 1] })).toString()
  for (const command of ['first', 'second', 'third']) {
    repository.run('config', 'filter.e.clean', command)
    expect((await settings()).trim()).toBe('')
  }
  repository.run('config', '--unset-all', 'filter.e.clean')
  expect(await settings()).toBe('')
})
