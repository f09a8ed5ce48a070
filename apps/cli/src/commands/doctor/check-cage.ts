import { CageError, findCagePrograms } from '@chirality/cage'
import { CodedError } from '@chirality/core'
import { CageSettings } from '@chirality/sessions'
import type { Check } from './check-agent.ts'

/** Whether this machine has what a cage needs. Its lack is a fault only in a project whose agents have to be caged. */
export async function checkCage(
  project: string | undefined,
  environment: Record<string, string>,
): Promise<Check> {
  let isWanted = true
  try {
    const level = project === undefined ? 'off' : new CageSettings().get(project)
    isWanted = level !== 'off'
    const { bwrap } = await findCagePrograms(environment)
    return { check: 'cage', ok: true, detail: `${bwrap}, ${level} in this project` }
  } catch (error) {
    if (!(error instanceof CageError || error instanceof CodedError)) throw error
    const fix = isWanted ? 'chirality cage off lets agents of this project start without it.' : undefined
    return { check: 'cage', ok: !isWanted, detail: error.message, ...(fix === undefined ? {} : { fix }) }
  }
}
