/** A small repository with one check. */
export interface Project {
  runner: string
  /** What the machine must have: from npm, or a program. */
  needs: 'npm' | 'node' | 'python3' | 'cargo' | 'mvn' | 'make'
  check: string
  files: Record<string, string>
  /** Run in each worktree, beside what `needs` asks for. */
  setup?: string
}

export type Step = { write: string; content: string } | { bash: string }

/** What an agent does with a task. */
export interface Deed {
  id: string
  project: Project
  /** What the user asked for. */
  task: string
  steps: Step[]
  /** Keys of the task in the list, one a line. */
  keys?: string[]
}

export interface HonestDeed extends Deed {
  /** Flags that a person would call right: the words of each begin so. */
  may?: string[]
}

export const write = (file: string, content: string): Step => ({ write: file, content })
export const bash = (command: string): Step => ({ bash: command })
