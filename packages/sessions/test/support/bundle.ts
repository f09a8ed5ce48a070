import { fileURLToPath } from 'node:url'
import { type Bundle, bundleProgram } from '@chirality/fixtures/bundle-program'

export type { Bundle }

/** A module of this package, named by its path in it, so that a hundred processes start quickly with it. */
export function bundle(entry: string): Promise<Bundle> {
  return bundleProgram(fileURLToPath(new URL(`../../${entry}`, import.meta.url)))
}
