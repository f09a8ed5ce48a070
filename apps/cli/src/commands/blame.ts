import { lstat, readFile, realpath } from 'node:fs/promises'
import path from 'node:path'
import { CodedError, costText, visibleLine } from '@chirality/core'
import { openBlamePlace, type ProjectPlace, userDataFolder } from '@chirality/sessions'
import {
  type Blame,
  type BlamedTurn,
  blameProjectFile,
  NOTES_REF,
  noteCommits,
  projectOf,
  Worktrees,
} from '@chirality/workspaces'
import { EXIT, UsageError } from '../exit-code.ts'
import { noArgument, oneArgument, projectFolder, readOptions } from '../options.ts'
import type { Output } from '../output.ts'
import { plain } from '../render/style.ts'

/** Which turn of which agent wrote each line of a file, or one line of it, for which prompt and money. */
export async function blame(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    ...{ project: { type: 'string' }, notes: { type: 'boolean' }, json: { type: 'boolean' } },
  })
  if (values.notes) {
    noArgument(positionals)
    const place = await open(await findPlace(await projectFolder(values.project), values.project))
    const count = await noteCommits(place, { limit: MAX_NOTED_COMMITS })
    const notes = { ref: NOTES_REF, commits: count }
    const said = `${count} of the last ${MAX_NOTED_COMMITS} commits have notes in ${NOTES_REF}: git log --notes=chirality\n`
    await output.write(values.json ? `${JSON.stringify(notes)}\n` : said)
    return EXIT.done
  }
  const given = oneArgument(positionals, 'a file')
  const { file, line } = await parseFile(given)
  if (!(await exists(file))) throw new CodedError('not-found', `There is no file ${visibleLine(given)}.`)
  const found = await findPlace(file, values.project)
  const relative = path.relative(found.folder, file).split(path.sep).join('/')
  const blamed = await blameProjectFile(await open(found), { path: relative, line })
  if (values.json) await output.write(`${JSON.stringify(blamed)}\n`)
  else await output.write(text(blamed, (await readFile(file, 'utf8')).split('\n'), line))
  return EXIT.done
}

const MAX_NOTED_COMMITS = 100

/** `FILE`, or `FILE:LINE`. A file that is there with a colon in its name is meant by it. */
async function parseFile(given: string): Promise<{ file: string; line: number | undefined }> {
  if (await exists(given)) return { file: await realName(given), line: undefined }
  const [, name, line] = /^(.+):(\d{1,8})$/s.exec(given) ?? []
  if (name !== undefined && Number(line) > 0) return { file: await realName(name), line: Number(line) }
  return { file: path.resolve(given), line: undefined }
}

/** Through links in its folders, as the folders of projects are known by their real names. */
async function realName(file: string): Promise<string> {
  const absolute = path.resolve(file)
  const folder = await realpath(path.dirname(absolute)).catch(() => path.dirname(absolute))
  return path.join(folder, path.basename(absolute))
}

async function exists(file: string): Promise<boolean> {
  return (await lstat(file).catch(() => undefined)) !== undefined
}

/** The worktree of a session, or the project: the folder with `.chirality` that the file is in. */
async function findPlace(file: string, project: string | undefined): Promise<ProjectPlace> {
  const worktrees = await new Worktrees(path.join(userDataFolder(), 'worktrees')).list()
  const inside = worktrees.find(({ folder }) => isInside(folder, file))
  if (inside !== undefined) {
    const { id, folder, prefix } = inside
    return { root: projectOf(inside), folder: path.join(folder, prefix), worktree: id }
  }
  let root = project === undefined ? undefined : await realpath(await projectFolder(project))
  for (
    let folder = file;
    root === undefined && folder !== path.dirname(folder);
    folder = path.dirname(folder)
  )
    if (await exists(path.join(folder, '.chirality'))) root = folder
  if (root === undefined)
    throw new UsageError(
      `No agent has worked in a folder of ${file}. Name the project with --project if it is another one.`,
    )
  return { root, folder: root, worktree: null }
}

function isInside(folder: string, file: string): boolean {
  return file === folder || file.startsWith(`${folder}${path.sep}`)
}

async function open(place: ProjectPlace) {
  const opened = await openBlamePlace(place)
  if (opened !== undefined) return opened
  throw new UsageError(
    `${place.folder} is not in a git repository: the states before and after turns are not kept there.`,
  )
}

function text(
  { lines, turns, path: file }: Blame,
  contents: readonly string[],
  line: number | undefined,
): string {
  const [only] = lines
  if (line !== undefined && only !== undefined)
    return `${visibleLine(file)}:${line}  ${plain(contents[line - 1] ?? '')}\n${details(only.origin, turns)}`
  const words = lines.map(({ origin }) => shortly(origin, turns))
  const width = Math.min(MAX_WIDTH, Math.max(0, ...words.map(word => word.length)))
  const digits = String(contents.length).length
  return lines
    .flatMap(({ line: first, count }, group) =>
      Array.from({ length: count }, (_, i) => {
        const who = (words[group] ?? '').slice(0, width).padEnd(width)
        return `${who}  ${String(first + i).padStart(digits)}  ${plain(contents[first + i - 1] ?? '')}\n`
      }),
    )
    .join('')
}

const MAX_WIDTH = 56
const PROMPT_CHARS = 32

function shortly(origin: Blame['lines'][number]['origin'], turns: Blame['turns']): string {
  if (origin.kind === 'between') return 'not committed, not in a turn'
  if (origin.kind === 'commit')
    return `${origin.commit.id.slice(0, 9)} ${plain(origin.commit.author)}: ${oneLine(origin.commit.subject, PROMPT_CHARS)}`
  const [first = ''] = origin.turns
  const turn = turns[first]
  const more = origin.turns.length > 1 ? ` or ${origin.turns.length - 1} more` : ''
  const doubt = origin.isSure ? '' : '?'
  if (turn === undefined || turn.isDeleted) return `an agent of a deleted session${more}${doubt}`
  const cost = costOf(turn)
  return `${turn.harness ?? 'an agent'}${cost ? ` ${cost}` : ''}: ${oneLine(turn.prompt ?? '', PROMPT_CHARS)}${more}${doubt}`
}

function details(origin: Blame['lines'][number]['origin'], turns: Blame['turns']): string {
  if (origin.kind === 'between')
    return '  Not committed, and not written in a recorded turn: by a person or another program.\n'
  const commit = origin.commit
  const through =
    commit &&
    `  Commit ${commit.id.slice(0, 9)} by ${plain(commit.author)}: ${oneLine(commit.subject, 200)}\n`
  if (origin.kind === 'commit') return `${through}  Not written in a turn that is recorded here.\n`
  const among = origin.turns.length > 1 ? '  Written while these turns ran at the same time:\n' : ''
  const doubt = origin.isSure ? '' : '  Or after the turn: its end was not recorded.\n'
  return `${among}${origin.turns.map(turn => turnText(turns[turn])).join('')}${doubt}${through ?? ''}`
}

function turnText(turn: BlamedTurn | undefined): string {
  if (turn === undefined || turn.isDeleted) return '  A turn of a session that was deleted.\n'
  const { harness, model, at, prompt, sessionId, turnId, title } = turn
  const cost = costOf(turn)
  const facts = [harness ?? 'an agent', ...(model ? [model] : []), ...(at ? [at] : [])]
  if (cost) facts.push(`${cost} for the turn`)
  return [
    `  ${plain(facts.join(', '))}`,
    `  Prompt: ${oneLine(prompt ?? '', 500)}`,
    `  Session ${sessionId}${title === null ? '' : ` (${oneLine(title, 80)})`}, turn ${turnId}`,
    '',
  ].join('\n')
}

function costOf({ costUsd, costIsEstimate }: BlamedTurn): string | undefined {
  return costText({ usd: costUsd, isEstimate: costIsEstimate })
}

function oneLine(words: string, limit: number): string {
  const line = plain(words).replace(/\s+/g, ' ').trim()
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line
}
