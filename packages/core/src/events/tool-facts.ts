// Facts about a tool call that are the same for every agent. The translator derives them once; readers use nothing
// else.

export type ToolKind = 'read' | 'edit' | 'execute' | 'search' | 'fetch' | 'think' | 'task' | 'other'

export interface ToolFacts {
  kind: ToolKind
  /** The tool in a word or two, for display: `Bash`, `Edit`, `github list`. */
  label: string
  /** The subject of the call in one line: the command, the path, the pattern. Empty while it is not known. */
  object: string
  /** The whole command, without the shell around it. */
  command?: string
  /** The purpose of the call, in the agent's own words. */
  purpose?: string
  /** The files that the call changes. Undefined if it changes none, or if they are not known. */
  edits?: FileEdit[]
  todos?: Todo[]
  questions?: Question[]
}

/**
 * The change of one file. `hunks` if the agent reports lines with their numbers; else `text`, the whole content of a
 * file that is added or deleted, or `swaps`, replaced texts. None of them: the agent reports only the path.
 */
export interface FileEdit {
  path: string
  change: 'add' | 'update' | 'delete'
  /** The path of the file after a move. */
  movedTo?: string
  hunks?: DiffHunk[]
  text?: string
  swaps?: TextSwap[]
}

/** As in a unified diff. */
export interface DiffHunk {
  oldStart: number
  oldLines: number
  newStart: number
  newLines: number
  /** Each begins with a blank, `+` or `-`. */
  lines: string[]
}

export interface TextSwap {
  before: string
  after: string
  /** Replaces every occurrence, not only one. */
  all?: boolean
}

export interface Todo {
  text: string
  state: 'open' | 'active' | 'done'
}

export interface Question {
  /** The text of the question, by which every agent identifies it; its answer is stored under this key. */
  name: string
  /** A shorter name that Codex gives it. */
  id?: string
  header: string | null
  options: QuestionOption[]
  multiSelect: boolean
  /** The agent takes nothing but its options. */
  onlyOptions?: boolean
}

export interface QuestionOption {
  label: string
  description: string | null
}
