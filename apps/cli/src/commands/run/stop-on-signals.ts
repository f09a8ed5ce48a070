export interface Stoppable {
  /** Let it end its turn. */
  interrupt(): void
  /** End it. */
  kill(): void
}

/**
 * The first Ctrl-C interrupts, the second kills, and so does the end of the terminal. The agent has a process group
 * of its own: what we do not hand on never reaches it.
 */
export function stopOnSignals(turn: Stoppable): () => void {
  let interrupted = false
  const onInterrupt = () => {
    if (interrupted) turn.kill()
    else turn.interrupt()
    interrupted = true
  }
  const onTerminate = () => turn.kill()
  process.on('SIGINT', onInterrupt)
  process.on('SIGTERM', onTerminate)
  process.on('SIGHUP', onTerminate)
  return () => {
    process.off('SIGINT', onInterrupt)
    process.off('SIGTERM', onTerminate)
    process.off('SIGHUP', onTerminate)
  }
}
