import { UsageError } from '../../usage-error.ts'

/** `Read,Bash(git log, git diff)` to its two names: a comma in brackets belongs to the pattern. */
export function splitTools(list: string): string[] {
  const names: string[] = []
  let depth = 0
  let name = ''
  for (const char of list) {
    if (char === '(') depth += 1
    if (char === ')') depth -= 1
    if (depth < 0) break
    if (char === ',' && depth === 0) {
      names.push(name)
      name = ''
    } else name += char
  }
  if (depth !== 0) throw new UsageError(`--allow has a bracket without its partner: ${list}`)
  return [...names, name].map(part => part.trim()).filter(part => part !== '')
}
