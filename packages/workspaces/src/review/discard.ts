import { hasCode } from '@chirality/core'
import { SAFE_DIFF } from '../git/diff-trees.ts'
import { type GitRepository, git } from '../git/git.ts'
import { openSnapshots } from '../git/snapshot.ts'
import { workspaceError } from '../workspace-error.ts'
import { parseRaw } from './differing.ts'
import { byteName, type TreeFile } from './disk-files.ts'
import { type FileMove, FileMoves } from './file-moves.ts'
import { findOnDisk, rawTrees, restorable } from './raw-trees.ts'
import { enter, withIndex } from './temporary-index.ts'

/** The changes to discard from the difference between two trees. */
export interface Discard {
  from: string
  to: string
  /** The folder of Chirality's own objects. */
  stateFolder: string
  files: DiscardedFile[]
  /** Id of the session. */
  scope: string
}

export interface DiscardedFile {
  /** Relative to the root of the project. */
  path: string
  renamedFrom?: string | undefined
  /** Hunks of the difference. Undefined: the whole file. */
  hunks?: HunkChoice[] | undefined
}

/** A hunk by its position and lines, without the line about a missing newline. */
export interface HunkChoice {
  oldStart: number
  newStart: number
  /** Each line starts with a blank, `+` or `-`. */
  lines: string[]
}

/**
 * Discards changes in the work folder. If a change is not there any more, because its file changed since, the call is
 * refused with the reason and nothing is changed. The user's index is left as it is.
 */
export async function discardChanges(repository: GitRepository, discard: Discard): Promise<FileMove> {
  if (discard.files.length === 0) throw refused('No file was named.')
  const { env: objects, head } = await openSnapshots(repository, discard.stateFolder)
  const patches: { path: string; patch: Buffer }[] = []
  const names = new Set<string>()
  for (const file of discard.files) {
    const patch = await patchOf(repository, discard, file, objects)
    patches.push({ path: file.path, patch })
    for (const place of placesOf(repository, file)) names.add(byteName(place))
    if (patch.indexOf('\ndiff --git ') === -1) continue
    for (const name of await namesBelow(repository, discard, file, objects)) names.add(name)
  }
  const found = await findOnDisk(repository, [...names], { env: objects, head, stores: true })
  const wanted = await reversed(repository, { before: found.files, patches, objects, head })
  const restored = await restorable(repository, wanted.values(), objects)
  const trees = await rawTrees(repository, wanted, { restored, found, head })
  return new FileMoves(repository, discard.scope).move({
    ...trees,
    what: whatOf(discard.files),
    cause: { kind: 'discard' },
  })
}

function whatOf(files: readonly DiscardedFile[]): string {
  const [first] = files
  const hunks = files.flatMap(file => file.hunks ?? []).length
  const where = files.length === 1 ? (first?.path ?? '') : `${files.length} files`
  if (hunks === 0) return `Discarded ${where}`
  return `Discarded ${hunks === 1 ? 'a change' : `${hunks} changes`} in ${where}`
}

/** Paths from the top of the repository. */
function placesOf({ prefix }: GitRepository, { path, renamedFrom }: DiscardedFile): string[] {
  const places = renamedFrom === undefined ? [path] : [path, renamedFrom]
  return places.map(place => (prefix === '' ? place : `${prefix}/${place}`))
}

/**
 * Names that differ below a file that became a folder, or a folder that became a file: they can only be discarded
 * together with it.
 */
async function namesBelow(
  repository: GitRepository,
  { from, to }: Discard,
  file: DiscardedFile,
  env: Record<string, string>,
): Promise<string[]> {
  const list = ['diff', ...SAFE_DIFF, '--no-renames', '--name-only', '-z', from, to, '--']
  const output = await git(repository, [...list, ...placesOf(repository, file)], { env })
  return output.toString('latin1').split('\0').filter(Boolean)
}

/**
 * The patch of a file, always made by git: the caller's hunks only choose among its hunks and are never applied
 * themselves.
 */
async function patchOf(
  repository: GitRepository,
  { from, to }: Discard,
  file: DiscardedFile,
  env: Record<string, string>,
): Promise<Buffer> {
  const { path, hunks } = file
  const places = placesOf(repository, file)
  const args = ['diff', ...SAFE_DIFF, '--binary', '--full-index', from, to, '--', ...places]
  const patch = await git(repository, args, { env, maxBytes: MAX_PATCH_BYTES })
  if (patch.length === 0) throw refused(`${path} has no such change any more. Look at the changes again.`)
  return hunks === undefined ? patch : chosenHunks(path, patch.toString('latin1'), hunks)
}

function chosenHunks(path: string, patch: string, hunks: readonly HunkChoice[]): Buffer {
  const [head = '', ...all] = patch.split(/(?<=\n)(?=@@ )/)
  // A single part would not fit beside the rest.
  if (patch.includes('\ndiff --git '))
    throw refused(`${path} became a folder, a link or a file that it was not before. Discard the whole file.`)
  const chosen = all.filter(hunk => hunks.some(choice => isChosen(hunk, choice)))
  if (chosen.length !== hunks.length)
    throw refused(`A change in ${path} is not as it was shown. Look at the changes again.`)
  if (chosen.length === all.length) return Buffer.from(patch, 'latin1')
  // Lines about a rename or a mode are left out, so both stay.
  const target = /^\+\+\+ (.*)$/m.exec(head)?.[1] ?? ''
  const source = target.replace(/^("?)b\//, '$1a/')
  return Buffer.from(`--- ${source}\n+++ ${target}\n${chosen.join('')}`, 'latin1')
}

function isChosen(hunk: string, { oldStart, newStart, lines }: HunkChoice): boolean {
  const [head = '', ...own] = Buffer.from(hunk, 'latin1').toString('utf8').split('\n')
  const [, oldFirst, oldCount, newFirst, newCount] =
    /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(head) ?? []
  const starts = [firstLine(oldFirst, oldCount), firstLine(newFirst, newCount)]
  const shown = own.filter((line, at) => !line.startsWith('\\') && !(line === '' && at === own.length - 1))
  return (
    starts[0] === firstLine(String(oldStart), countOf(lines, '+')) &&
    starts[1] === firstLine(String(newStart), countOf(lines, '-')) &&
    shown.length === lines.length &&
    shown.every((line, at) => line === lines[at])
  )
}

/** Line number of a hunk. Git numbers a hunk without lines on one side one lower there, and some readers do not. */
function firstLine(first = '', count = '1'): number {
  return count === '0' ? 0 : Number(first)
}

function countOf(lines: readonly string[], otherMark: '+' | '-'): string {
  return String(lines.filter(line => !line.startsWith(otherMark)).length)
}

interface Reversal {
  before: ReadonlyMap<string, TreeFile | null>
  patches: { path: string; patch: Buffer }[]
  objects: Record<string, string>
  head: string
}

/** The files that change when the patches are reverted on `before`, as git stores them. */
async function reversed(
  repository: GitRepository,
  { before, patches, objects, head }: Reversal,
): Promise<Map<string, TreeFile | null>> {
  return withIndex(repository, objects, {
    head,
    work: async options => {
      await enter(repository, before, options)
      const start = (await git(repository, ['write-tree'], options)).toString('utf8').trim()
      for (const { path, patch } of patches) {
        const strict: [string, string][] = [['apply.ignoreWhitespace', 'no']]
        const exact = { ...repository, overrides: [...repository.overrides, ...strict] }
        const args = ['apply', '--cached', '--reverse', '--binary', '--whitespace=nowarn', '-']
        await git(exact, args, { ...options, input: patch }).catch((error: unknown) => {
          if (!hasCode(error, 'git-failed')) throw error
          throw refused(`${path} changed since, and the change is not there any more as it was shown.`)
        })
      }
      const end = (await git(repository, ['write-tree'], options)).toString('utf8').trim()
      const raw = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', start, end]
      const output = await git(repository, raw, { ...options, maxBytes: MAX_PATCH_BYTES })
      return new Map(parseRaw(output.toString('latin1')).map(({ name, to }) => [name, to]))
    },
  })
}

const MAX_PATCH_BYTES = 256 * 1024 * 1024

function refused(why: string) {
  return workspaceError('review-refused', `${why} Nothing was changed.`)
}
