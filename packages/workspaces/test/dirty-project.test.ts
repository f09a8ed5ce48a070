import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  commitFiles,
  discardChanges,
  FileMoves,
  findRepository,
  forScope,
  goBack,
  headTree,
  mergeIntoBase,
  takeSnapshot,
  Worktrees,
} from '../src/index.ts'

const RUNS = process.env.CHIRALITY_TEST_ALL ? 100 : 2

/** Uncommitted work of a person in the project's folder. Each case has files of its own. */
const HABITS = {
  changed: ({ write }: Repository) => write('changed.txt', 'changed\n'),
  staged: (r: Repository) => {
    r.write('staged.txt', 'staged\n')
    r.run('add', 'staged.txt')
  },
  stagedAndChanged: (r: Repository) => {
    r.write('both.txt', 'staged\n')
    r.run('add', 'both.txt')
    r.write('both.txt', 'changed again\n')
  },
  new: ({ write }: Repository) => write('folder of mine/new ü.txt', 'new\n'),
  likeTheAgents: ({ write }: Repository) => write('agent.txt', "a person's file of the same name\n"),
  ignored: ({ write }: Repository) => write('agent.log', "a person's ignored file\n"),
  deleted: ({ root }: Repository) => rmSync(path.join(root, 'deleted.txt')),
  deletedAndStaged: ({ run }: Repository) => run('rm', '-q', 'removed.txt'),
  renamed: ({ run }: Repository) => run('mv', 'old-name.txt', 'new-name.txt'),
  executable: ({ root }: Repository) => chmodSync(path.join(root, 'script.sh'), 0o755),
  link: ({ root }: Repository) => symlinkSync('changed.txt', path.join(root, 'link')),
  meantToAdd: (r: Repository) => {
    r.write('meant.txt', 'meant\n')
    r.run('add', '-N', 'meant.txt')
  },
  stashed: (r: Repository) => {
    r.write('stashed.txt', 'in a stash\n')
    r.run('stash', 'push', '-q', '--', 'stashed.txt')
  },
  conflict: (r: Repository) => {
    const [blob = ''] = [r.run('hash-object', '-w', 'conflict.txt').trim()]
    const stages = [1, 2, 3].map(stage => `100644 ${blob} ${stage}\tconflict.txt`)
    const input = `0 ${'0'.repeat(40)}\tconflict.txt\n${stages.join('\n')}\n`
    execFileSync('git', ['update-index', '--index-info'], { cwd: r.root, input })
    r.write('conflict.txt', '<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n')
  },
} satisfies Record<string, (repository: Repository) => unknown>

type Habit = keyof typeof HABITS

test('uncommitted files of a person are never touched, whatever a session in a worktree does', {
  timeout: RUNS * 120_000,
}, async () => {
  const names = Object.keys(HABITS) as Habit[]
  const examples: [Habit[]][] = [[names]]
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(names), async habits => {
      const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-dirty-')))
      try {
        await workBeside(folder, habits)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }),
    { numRuns: RUNS, examples, endOnFailure: true },
  )
})

async function workBeside(folder: string, habits: readonly Habit[]): Promise<void> {
  const repository = initRepository(path.join(folder, 'shop'))
  for (const name of ['changed', 'staged', 'both', 'deleted', 'removed', 'old-name', 'stashed', 'conflict'])
    repository.write(`${name}.txt`, `${name} at the beginning\n`)
  repository.write('script.sh', 'exit\n')
  repository.write('.gitignore', '*.log\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  repository.run('config', 'user.name', 'A User')
  repository.run('config', 'user.email', 'user@example')
  // Git makes no stash where a file is only meant to be added.
  const stashFirst = [...habits].sort((a, b) => Number(b === 'stashed') - Number(a === 'stashed'))
  for (const habit of stashFirst) HABITS[habit](repository)
  const before = stateOf(repository)

  const worktrees = new Worktrees(path.join(folder, 'worktrees'))
  const stateFolder = path.join(folder, 'state')
  mkdirSync(stateFolder)
  const project = await open(repository.root)
  await takeSnapshot(project, stateFolder)
  const { worktree } = await worktrees.make({ projectRoot: repository.root, title: 'work' })
  const { id, branch } = worktree
  expect(stateOf(repository)).toEqual(before)

  const scope = 'session'
  const own = forScope(await open(worktree.folder), scope)
  const first = (await takeSnapshot(own, stateFolder)).tree
  const files = ['agent.txt', 'changed.txt', 'deleted.txt']
  for (const file of files) writeFileSync(path.join(worktree.folder, file), `${file} by the agent\n`)
  const after = (await takeSnapshot(own, stateFolder)).tree
  const moves = new FileMoves(own, scope)
  const all = files.map(file => ({ path: file }))
  const discard = { from: await headTree(own), to: after, stateFolder, scope, files: all }
  await moves.undo((await discardChanges(own, discard)).id)
  const turns = [{ before: first, after }]
  const back = { turns, stateFolder, overwrite: [], what: 'Back', cause: { kind: 'fork' as const } }
  const gone = await goBack(own, moves, back)
  await moves.undo(gone?.id ?? '')
  await commitFiles(own, worktree.folder, { message: 'work' })
  // An agent can commit what is ignored: where the person has a file of that name, it is theirs.
  writeFileSync(path.join(worktree.folder, 'agent.log'), 'by the agent\n')
  const identity = ['-c', 'user.name=agent', '-c', 'user.email=agent@example']
  execFileSync('git', ['add', '-f', 'agent.log'], { cwd: worktree.folder })
  execFileSync('git', [...identity, 'commit', '-qm', 'log'], { cwd: worktree.folder })
  expect(stateOf(repository)).toEqual(before)

  const merged = await mergeIntoBase(own, { branch, base: 'main', how: 'merge', message: 'Merge' }).then(
    ({ kind }) => kind,
    (error: unknown) => (error instanceof Error ? error.message : 'failed'),
  )
  const merges = { habits, merged, ...stateOf(repository) }
  // Only where nothing of the person is in the way are the commits brought in, and then nothing else changes.
  if (merged !== 'merged') expect(merges).toEqual({ habits, merged, ...before })
  expect({ merged, uncommitted: uncommittedOf(merges) }).toEqual({
    merged,
    uncommitted: uncommittedOf(before),
  })

  const left = stateOf(repository)
  writeFileSync(path.join(worktree.folder, 'more.txt'), 'not committed\n')
  await worktrees.remove(id)
  await worktrees.restore(id)
  await worktrees.remove(id)
  await worktrees.forget(id)
  expect(stateOf(repository)).toEqual(left)
  expect(repository.run('fsck', '--no-dangling')).toBe('')
}

interface FolderState {
  head: string
  /** Status as git shows it, with ignored files. */
  status: string[]
  index: string
  stashes: string
  /** Each with its kind, mode and content. */
  files: Record<string, string>
}

function stateOf({ root, run }: Repository): FolderState {
  const files: Record<string, string> = {}
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (name === '.git' || name.startsWith(`.git${path.sep}`)) continue
    const file = path.join(root, name)
    const facts = lstatSync(file)
    const content = facts.isSymbolicLink()
      ? readlinkSync(file)
      : facts.isFile()
        ? readFileSync(file, 'utf8')
        : ''
    files[name] = `${facts.mode.toString(8)} ${content}`
  }
  return {
    head: run('rev-parse', 'HEAD', '--symbolic-full-name', 'HEAD'),
    status: run('status', '--porcelain', '-z', '--untracked-files=all', '--ignored').split('\0'),
    index: run('ls-files', '--stage', '-z'),
    stashes: run('stash', 'list', '--format=%H'),
    files,
  }
}

/** Changed, new and ignored files according to git, with their content. */
function uncommittedOf({ status, stashes, files }: FolderState): object {
  const names = status.map(entry => entry.slice(3)).filter(name => files[name] !== undefined)
  return { stashes, status, files: Object.fromEntries(names.map(name => [name, files[name]])) }
}

async function open(root: string) {
  const found = await findRepository(root)
  if (found === undefined) throw new Error('no repository')
  return found
}
