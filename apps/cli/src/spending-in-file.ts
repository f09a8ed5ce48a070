import { budgetKey } from '@chirality/centre'
import { readMember, storedSpending } from '@chirality/fleet'
import type { SpentElsewhere } from '@chirality/sessions'

/** What other machines spent on a project, as the file of this machine says: read again each time it is asked. */
export async function spendingInFile(home: string, project: string): Promise<() => SpentElsewhere[]> {
  const member = await readMember(home)
  const key = member && (await budgetKey(project))
  return () => (member === undefined || key === undefined ? [] : storedSpending(home, key, member.machine))
}
