/** What work comes to within a time, and before it is stopped. The work itself goes on. */
export function within<T>(
  work: Promise<T>,
  { ms, signal }: { ms?: number; signal?: AbortSignal },
): Promise<T | 'late' | 'stopped' | 'failed'> {
  return new Promise(resolve => {
    const timer = ms === undefined ? undefined : setTimeout(() => resolve('late'), ms)
    const stop = () => resolve('stopped')
    signal?.addEventListener('abort', stop, { once: true })
    if (signal?.aborted) stop()
    work
      .then(resolve, () => resolve('failed'))
      .finally(() => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', stop)
      })
  })
}
