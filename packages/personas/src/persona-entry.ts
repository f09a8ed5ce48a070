import type { BrokenPersona, PersonaEntry, PersonaProblem } from './persona.ts'
import { PersonaError } from './persona-error.ts'

export function broken(id: string, sourceFile: string, problems: PersonaProblem[]): BrokenPersona {
  const [first] = problems
  return { kind: 'broken', id, sourceFile, error: first?.message ?? '', line: first?.line, problems }
}

/** Throws again what is not about a file: a bug must not look like a broken persona. */
export function problemsOf(error: unknown): PersonaProblem[] {
  if (error instanceof PersonaError) return error.problems
  throw error
}

/** Where file names do not tell case apart, one of two such files would be lost on checkout. */
export function warnOfTwins(entries: PersonaEntry[]): PersonaEntry[] {
  const counts = new Map<string, number>()
  for (const entry of entries) counts.set(sameInAnyCase(entry), (counts.get(sameInAnyCase(entry)) ?? 0) + 1)
  for (const entry of entries) {
    const isTwin = (counts.get(sameInAnyCase(entry)) ?? 0) > 1
    if (isTwin && entry.kind === 'persona')
      entry.warnings.push({ message: 'another file has the same name but for its case. Rename one.' })
  }
  return entries
}

function sameInAnyCase(entry: PersonaEntry): string {
  return (entry.kind === 'persona' ? entry.persona.id : entry.id).toLowerCase()
}
