/** The result of `work`, unless it takes longer than `ms` or is stopped. The work itself continues. */
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
