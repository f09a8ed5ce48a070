// Facts about a tool call that are the same for every agent. The translator derives them once; readers use nothing
// else.

import {
  described,
  flag,
  list,
  number,
  object,
  oneOf,
  optional,
  orNull,
  text,
  type ValueOf,
} from './shape.ts'

export const todo = object({ text, state: oneOf('open', 'active', 'done') })

/** As in a unified diff. */
const hunk = object({
  oldStart: number,
  oldLines: number,
  newStart: number,
  newLines: number,
  lines: described(list(text), 'Each begins with a blank, `+` or `-`.'),
})

const swap = object({
  before: text,
  after: text,
  /** Replaces every occurrence, not only one. */
  all: optional(flag),
})

export const fileEdit = object(
  {
    path: text,
    change: oneOf('add', 'update', 'delete'),
    /** The path of the file after a move. */
    movedTo: optional(text),
    hunks: optional(list(hunk)),
    text: described(optional(text), 'The whole content of a file that is added or deleted.'),
    swaps: optional(list(swap)),
  },
  'FileEdit',
)

const question = object({
  /** The text of the question, by which every agent identifies it; its answer is stored under this key. */
  name: described(text, 'The text of the question; its answer is stored under this key.'),
  /** A shorter name that Codex gives it. */
  id: optional(text),
  header: orNull(text),
  options: list(object({ label: text, description: orNull(text) })),
  multiSelect: flag,
  onlyOptions: described(optional(flag), 'The agent takes nothing but its options.'),
})

export const callFacts = object(
  {
    kind: oneOf('read', 'edit', 'execute', 'search', 'fetch', 'think', 'task', 'other'),
    /** The tool in a word or two, for display: `Bash`, `Edit`, `github list`. */
    label: text,
    /** The subject of the call in one line: the command, the path, the pattern. Empty while it is not known. */
    object: text,
    /** The whole command, without the shell around it. */
    command: optional(text),
    /** The purpose of the call, in the agent's own words. */
    purpose: optional(text),
    /** The files that the call changes. Undefined if it changes none, or if they are not known. */
    edits: optional(list(fileEdit)),
    todos: optional(list(todo)),
    questions: optional(list(question)),
  },
  'ToolFacts',
)

export type ToolFacts = ValueOf<typeof callFacts>
export type ToolKind = ToolFacts['kind']

/**
 * The change of one file. `hunks` if the agent reports lines with their numbers; else `text`, the whole content of a
 * file that is added or deleted, or `swaps`, replaced texts. None of them: the agent reports only the path.
 */
export type FileEdit = ValueOf<typeof fileEdit>
export type DiffHunk = ValueOf<typeof hunk>
export type TextSwap = ValueOf<typeof swap>
export type Todo = ValueOf<typeof todo>
export type Question = ValueOf<typeof question>
export type QuestionOption = Question['options'][number]
