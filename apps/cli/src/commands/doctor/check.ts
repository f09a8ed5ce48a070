export interface Check {
  check: string
  ok: boolean
  detail: string
  /** What to do about it. */
  fix?: string
}
