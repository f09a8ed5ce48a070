/** One line of the harness log. */
export interface RunnerLogEntry {
  level: 'debug' | 'info' | 'warn' | 'error'
  event: string
  sessionId?: string
  data?: Record<string, unknown>
}
