/** The signals by which a terminal, a service manager or a closed window asks a command to end. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
