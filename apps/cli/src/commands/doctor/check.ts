import type { VersionSupport } from '@chirality/core'

export interface Check {
  check: string
  ok: boolean
  detail: string
  /** What to do about it. */
  fix?: string
  /** Of an agent's version. */
  support?: VersionSupport
}
