// What is known of a tool call whichever agent made it. Decided once, by the translator; readers look at nothing else.

export type ToolKind = 'read' | 'edit' | 'execute' | 'search' | 'fetch' | 'think' | 'task' | 'other'

export interface ToolFacts {
  kind: ToolKind
  /** The tool in a word or two for people: `Bash`, `Edit`, `github list`. */
  label: string
  /** What the call is about, in one line: the command, the path, the pattern. Empty while that is not known. */
  object: string
  /** All of it, without the shell around it. */
  command?: string
  /** What the call is for, in the agent's own words. */
  purpose?: string
  /** The files that the call changes. Missing where it changes none, or where nobody can tell. */
  edits?: FileEdit[]
  todos?: Todo[]
  questions?: Question[]
}

/**
 * What a call does to one file. `hunks` where the agent tells lines with their numbers; else `text`, all of a file that is added
 * or deleted, or `swaps`, texts that take the place of others. None of them: the agent tells the path only.
 */
export interface FileEdit {
  path: string
  change: 'add' | 'update' | 'delete'
  /** The file has this path afterwards. */
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
  /** Wherever it stands, not only once. */
  all?: boolean
}

export interface Todo {
  text: string
  state: 'open' | 'active' | 'done'
}

export interface Question {
  /** The question's own words, by which every agent knows it; its answer is filed under them. */
  name: string
  /** Codex has a shorter name for it as well. */
  id?: string
  header: string | null
  options: QuestionOption[]
  multiSelect: boolean
}

export interface QuestionOption {
  label: string
  description: string | null
}
