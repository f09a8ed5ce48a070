import type {
  DiffHunk,
  FileEdit,
  Question,
  QuestionOption,
  TextSwap,
  Todo,
  ToolFacts,
} from '../events/tool-facts.ts'
import { asArray, asObject, asString, asText, type JsonObject } from '../native/loose.ts'
import { unwrapShell } from '../rules/shell-commands.ts'
import { isSecretField } from './secret-fields.ts'
import { present } from './shared.ts'
import { toolKind, toolLabel } from './tool-shapes.ts'

/** What a call is, by its tool and its input. The translators put it on the events of the call. */
export function toolFacts(name: string, input: JsonObject): ToolFacts {
  const kind = toolKind(name)
  const edits = editsOfInput(name, input)
  const todos = readTodos(input.todos)
  const questions = readQuestions(input)
  const command = kind === 'execute' ? asText(input.command) : undefined
  return present({
    kind,
    label: toolLabel(name),
    object: objectOf(name, input, { edits, todos, questions }),
    command: command && unwrapShell(command),
    purpose: asText(input.description),
    edits: edits.length > 0 ? edits : undefined,
    todos: todos.length > 0 ? todos : undefined,
    questions: questions.length > 0 ? questions : undefined,
  })
}

/** The facts of a call or a request. Logs of earlier versions have none on their events: there the input tells the same. */
export function factsOf(call: {
  facts?: ToolFacts
  name?: string
  toolName?: string
  input: JsonObject
}): ToolFacts {
  return call.facts ?? toolFacts(call.name ?? call.toolName ?? '', call.input)
}

/** What a call changes in files: by its result where that says more, else as it was called. Empty for one that edits nothing. */
export function editsOf(call: {
  facts?: ToolFacts
  edits?: FileEdit[]
  name: string
  input: JsonObject
  detail?: unknown
}): FileEdit[] {
  return call.edits ?? editsOfResult(call.detail, call.input) ?? factsOf(call).edits ?? []
}

/** The edits that a result tells of; undefined where it tells nothing of files. */
export function editsOfResult(detail: unknown, input: JsonObject): FileEdit[] | undefined {
  const told = asObject(detail)
  if (!told) return undefined
  if (Array.isArray(told.changes)) return changedFiles(told.changes)
  if (!Array.isArray(told.structuredPatch)) return undefined
  const path = asText(told.filePath) ?? asText(input.file_path)
  if (path === undefined) return undefined
  const text = asString(told.content)
  if (told.type === 'create' && text !== undefined) return [{ path, change: 'add', text }]
  return [{ path, change: 'update', hunks: told.structuredPatch.flatMap(readHunk) }]
}

/** The lines of a unified diff of one file, with their numbers. */
export function readHunks(diff: string): DiffHunk[] {
  const hunks: DiffHunk[] = []
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const [head, oldStart, oldLines = '1', newStart, newLines = '1'] = HUNK_HEAD.exec(line) ?? []
    if (head !== undefined) {
      const sizes = { oldLines: Number(oldLines), newLines: Number(newLines) }
      hunks.push({ oldStart: Number(oldStart), newStart: Number(newStart), ...sizes, lines: [] })
    } else if (/^[-+ ]/.test(line)) hunks.at(-1)?.lines.push(line)
  }
  return hunks
}

const HUNK_HEAD = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

/** The plan that a status line carries; empty for any other line. */
export function todosOf({ todos, data }: { todos?: Todo[]; data?: JsonObject }): Todo[] {
  return todos ?? readTodos(data?.todos, asText(data?.active))
}

/** A to-do list of any agent: `content` and `status` in Claude Code; `text` and `completed` in Codex, which names the active one apart. */
export function readTodos(value: unknown, active?: string): Todo[] {
  return asArray(value).flatMap((entry): Todo[] => {
    const todo = asObject(entry)
    const text = asString(todo?.text) ?? asString(todo?.content)
    if (!todo || text === undefined) return []
    const done = todo.completed === true || todo.status === 'completed'
    const isActive = todo.status === 'in_progress' || text === active
    return [{ text, state: done ? 'done' : isActive ? 'active' : 'open' }]
  })
}

/** What a result says was answered, by the words of each question: as a table, or each answer in the line below its question. */
export function answersOf({
  facts,
  name,
  input,
  content,
  detail,
}: Parameters<typeof editsOf>[0] & { content: string | null }): string[] {
  const given = asObject(asObject(detail)?.answers)
  return (factsOf({ ...(facts ? { facts } : {}), name, input }).questions ?? []).flatMap(question => {
    const told = given && Object.hasOwn(given, question.name) ? given[question.name] : undefined
    return asText(told) ?? lineBelow(content ?? '', question.name) ?? []
  })
}

/** The tokens of a sub-agent as the result of its call states them; undefined where it states none. */
export function statedTokens({ detail }: { detail?: unknown }): number | undefined {
  const tokens = asObject(detail)?.totalTokens
  return typeof tokens === 'number' && tokens > 0 ? tokens : undefined
}

/** The words in which an output says that the agent kept only a part of it; undefined for a whole one. */
export function outputCut(content: string): string | undefined {
  for (const sign of CUT_SIGNS) {
    const words = sign.exec(content)?.[1]
    if (words !== undefined) return words.trim()
  }
  return undefined
}

const CUT_SIGNS: readonly RegExp[] = [
  // Claude Code keeps a large output in a file and gives its beginning.
  /^<persisted-output>\s*(\S.*)/,
  /^(\.\.\. \[\d+ (?:lines|characters) truncated\] \.\.\.)$/m,
  // Codex leaves out the middle.
  /(…\d+ (?:tokens|chars|lines) truncated…)/,
  /(\[\.\.\. omitted \d+ of \d+ lines \.\.\.\])/,
  // So does the loop of the Messages API.
  /^(\[\d+ bytes left out\])$/m,
]

function lineBelow(content: string, question: string): string | undefined {
  const at = `\n${content}`.indexOf(`\n${question}\n`)
  return at < 0 ? undefined : asText(content.slice(at + question.length + 1).split('\n', 1)[0])
}

function editsOfInput(name: string, input: JsonObject): FileEdit[] {
  if (toolKind(name) !== 'edit') return []
  if (Array.isArray(input.changes)) return changedFiles(input.changes)
  const path = asText(input.file_path) ?? asText(input.path) ?? asText(input.notebook_path)
  if (path === undefined) return []
  const swaps = readSwaps(input)
  if (swaps.length > 0) return [{ path, change: 'update', swaps }]
  const text = asString(input.content)
  return [text === undefined ? { path, change: 'update' } : { path, change: 'add', text }]
}

function readSwaps(input: JsonObject): TextSwap[] {
  return [input, ...asArray(input.edits)].flatMap((value): TextSwap[] => {
    const edit = asObject(value)
    const [before, after] = [asString(edit?.old_string), asString(edit?.new_string)]
    if (!edit || before === undefined || after === undefined) return []
    return [{ before, after, ...(edit.replace_all === true ? { all: true } : {}) }]
  })
}

/** Codex: each with its path and kind. The diff of a file that is added or deleted is its content; `exec` tells none. */
function changedFiles(changes: readonly unknown[]): FileEdit[] {
  return changes.flatMap((value): FileEdit[] => {
    const change = asObject(value)
    const path = asText(change?.path)
    if (!change || path === undefined) return []
    const diff = asString(change.diff)
    if (change.kind === 'add' || change.kind === 'delete')
      return [present({ path, change: change.kind, text: diff })]
    const movedTo = asText(change.movePath)
    return [
      present({
        path,
        change: 'update' as const,
        movedTo,
        hunks: diff === undefined ? undefined : readHunks(diff),
      }),
    ]
  })
}

function readHunk(value: unknown): DiffHunk[] {
  const hunk = asObject(value)
  if (!hunk) return []
  const { oldStart, oldLines, newStart, newLines, lines } = hunk
  const isSound =
    [oldStart, oldLines, newStart, newLines].every(Number.isSafeInteger) &&
    Array.isArray(lines) &&
    lines.every(line => typeof line === 'string')
  // The file's missing last newline is no line of it.
  return isSound
    ? [{ ...(hunk as unknown as DiffHunk), lines: lines.filter(line => !line.startsWith('\\')) }]
    : []
}

function readQuestions(input: JsonObject): Question[] {
  return asArray(input.questions).flatMap((value): Question[] => {
    const asked = asObject(value)
    const name = asString(asked?.question)
    if (!asked || name === undefined) return []
    const id = asText(asked.id)
    return [
      {
        name,
        ...(id === undefined ? {} : { id }),
        header: asString(asked.header) ?? null,
        options: asArray(asked.options).flatMap(readOption),
        multiSelect: asked.multiSelect === true,
        ...(asked.onlyOptions === true ? { onlyOptions: true } : {}),
      },
    ]
  })
}

function readOption(value: unknown): QuestionOption[] {
  if (typeof value === 'string') return [{ label: value, description: null }]
  const option = asObject(value)
  const label = asString(option?.label)
  return label === undefined ? [] : [{ label, description: asString(option?.description) ?? null }]
}

function objectOf(
  name: string,
  input: JsonObject,
  { edits, todos, questions }: { edits: FileEdit[]; todos: Todo[]; questions: Question[] },
): string {
  if (edits.length > 0) return oneLine(edits.map(({ path }) => path).join(', '))
  if (questions.length > 0) return oneLine(questions.map(({ name }) => name).join(' · '))
  if (todos.length > 0) return todos.length === 1 ? '1 step' : `${todos.length} steps`
  const command = asText(input.command)?.trim()
  if (command) return oneLine(unwrapShell(command))
  const telling = toolKind(name) === 'search' ? ['pattern', ...TELLING] : TELLING
  // A field whose name says that it holds a secret is taken out of exports; a copy of it here would not be.
  const others = Object.keys(input).filter(key => !isSecretField(key))
  for (const key of [...telling, ...others]) {
    const value = input[key]
    if (typeof value === 'string' && value.trim() !== '') return oneLine(value)
  }
  return ''
}

/** The argument that a person would name, before any other; of a search it is the pattern. */
const TELLING = [
  'file_path',
  'path',
  'notebook_path',
  'pattern',
  'query',
  'url',
  'description',
  'skill',
  'name',
  'prompt',
] as const

const MAX_OBJECT_CHARS = 300

/** Cut between characters, never inside one. */
function oneLine(text: string): string {
  // A file that is written can be the input: most of it need not be looked at.
  const line = text
    .slice(0, MAX_OBJECT_CHARS * 10)
    .replace(/\s+/g, ' ')
    .trim()
  const chars = [...line]
  return chars.length > MAX_OBJECT_CHARS ? `${chars.slice(0, MAX_OBJECT_CHARS - 1).join('')}…` : line
}
