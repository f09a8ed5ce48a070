/** Only in what was built: `vite dev` has no such file, and wants no cache. */
export function registerWorker(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return
  // Without one, as in some private windows, all works but starting without a server and notifications.
  const register = () =>
    void navigator.serviceWorker.register('/sw.js', { updateViaCache: 'none' }).catch(() => undefined)
  // What the page itself needs comes first.
  if ('requestIdleCallback' in window) requestIdleCallback(register, { timeout: MAX_WAIT_MS })
  else setTimeout(register, MAX_WAIT_MS)
}

const MAX_WAIT_MS = 2000
