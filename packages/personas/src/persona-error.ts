import { CodedError } from '@chirality/core'
import type { PersonaProblem } from './persona.ts'

export type PersonaErrorCode =
  /** The id cannot be the name of a file. */
  | 'persona-invalid-id'
  /** The frontmatter is wrong; `problems` says where. */
  | 'persona-invalid-file'
  | 'persona-not-text'
  | 'persona-too-large'
  /** Not a regular file, or not a folder where one is needed. */
  | 'persona-wrong-kind'
  /** A link leads out of the project, or a folder belongs to someone else. */
  | 'persona-unsafe'
  | 'persona-missing'
  | 'persona-unreadable'
  | 'persona-not-writable'
  | 'persona-project-missing'

/** A persona, or a prompt, that cannot be used. The message names the file and says what to do. */
export class PersonaError extends CodedError<PersonaErrorCode> {
  readonly file: string
  readonly problems: PersonaProblem[]

  constructor(code: PersonaErrorCode, file: string, problems: PersonaProblem | PersonaProblem[]) {
    const all = [problems].flat()
    super(code, describe(file, all))
    this.name = 'PersonaError'
    this.file = file
    this.problems = all
  }

  /** Line of the first problem, from 1. */
  get line(): number | undefined {
    return this.problems[0]?.line
  }
}

function describe(file: string, problems: PersonaProblem[]): string {
  const [first] = problems
  const place = first?.line === undefined ? file : `${file}:${first.line}`
  const more = problems.length > 1 ? ` (${problems.length - 1} more)` : ''
  return `${place}: ${first?.message ?? 'cannot be used'}${more}`
}
