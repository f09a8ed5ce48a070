export interface FleetMemberOptions {
  /** The user's data folder. */
  home: string
  /** Must be the broker that this machine joined. */
  url?: string
  labels?: readonly string[]
  /** Number of turns that may run at once. */
  slots?: number
  /** Sends no copies of this machine's sessions to hubs, whatever its settings say. */
  noCopies?: boolean
  onFault?: (error: unknown) => void
  /** Receives texts for the user about the fleet's state. */
  onNews?: (text: string) => void
}
