import { lstat, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PersonaManager } from '@chirality/personas'
import { tell } from '../../output.ts'
import { UsageError } from '../../usage-error.ts'
import { findPersona } from '../personas/find-persona.ts'
import type { Amounts } from './amounts.ts'

/** Writes the budget of a persona into the frontmatter of its file, and leaves everything else as it stands. */
export async function setPersonaBudget(
  { project, id }: { project: string; id: string },
  { usd, tokens, minutes }: Amounts,
): Promise<void> {
  const { sourceFile } = await findPersona(new PersonaManager(), project, id)
  const path = join(project, sourceFile)
  if (!(await lstat(path)).isFile())
    throw new UsageError(
      `${sourceFile} is a link. Change budget_usd, budget_tokens or budget_minutes in it by hand.`,
    )
  const before = await readFile(path, 'utf8')
  const fields = { budget_usd: usd, budget_tokens: tokens, budget_minutes: minutes }
  await replace(path, withFields(before, fields))
  try {
    await findPersona(new PersonaManager(), project, id)
  } catch (error) {
    // Frontmatter in another form than one field a line.
    await replace(path, before)
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(
      `${sourceFile} cannot be changed by this command (${reason}). Edit it by hand; it is as it was.`,
    )
  }
  await tell(
    `chirality: ${sourceFile} was changed. If you had allowed this persona, run "chirality personas allow ${id}" again.\n`,
  )
}

/** undefined stays, null is removed. */
export function withFields(text: string, fields: Record<string, number | null | undefined>): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const frontmatter = /^(\uFEFF?---[ \t]*\r?\n)([\s\S]*?)(^---[ \t]*(?:\r?\n|$))/m.exec(text)
  const [whole = '', open = `---${eol}`, yaml = '', close = `---${eol}`] =
    frontmatter?.index === 0 ? frontmatter : []
  let lines = yaml
  for (const [name, amount] of Object.entries(fields)) {
    if (amount === undefined) continue
    const line = new RegExp(`^${name}[ \\t]*:.*(?:\\r?\\n|$)`, 'm')
    const wanted = amount === null ? '' : `${name}: ${amount}${eol}`
    lines = line.test(lines) ? lines.replace(line, wanted) : `${lines}${wanted}`
  }
  return lines === '' && whole === '' ? text : `${open}${lines}${close}${text.slice(whole.length)}`
}

async function replace(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    await writeFile(temporary, text, { flag: 'wx', mode: (await lstat(path)).mode & 0o777 })
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
