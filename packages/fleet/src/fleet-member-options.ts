export interface FleetMemberOptions {
  /** The user's data folder. */
  home: string
  /** Has to be the broker that this machine joined. */
  url?: string
  labels?: readonly string[]
  /** How many turns may run at once. */
  slots?: number
  /** Hubs get no copies of this machine's sessions, whatever its settings say. */
  noCopies?: boolean
  onFault?: (error: unknown) => void
  /** For people: what happens. */
  onNews?: (text: string) => void
}
