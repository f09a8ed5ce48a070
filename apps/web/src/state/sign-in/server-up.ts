/** Whether our server answers here: another program that has the port now is not it. */
export async function isServerUp(): Promise<boolean> {
  try {
    const response = await fetch('/healthz', { cache: 'no-store' })
    const { name } = (await response.json()) as { name?: unknown }
    return response.ok && name === 'chirality'
  } catch {
    return false
  }
}

const FIRST_MS = 500
const MAX_MS = 5_000

/** Asks until it answers, more and more seldom, and at once when somebody looks at the page again. */
export function whenServerUp(onUp: () => void): () => void {
  let wait = FIRST_MS
  let timer: ReturnType<typeof setTimeout> | undefined
  let asking = false
  const ask = async () => {
    if (asking) return
    asking = true
    clearTimeout(timer)
    const isUp = await isServerUp()
    asking = false
    if (stopped) return
    if (isUp) {
      stop()
      onUp()
      return
    }
    timer = setTimeout(ask, wait)
    wait = Math.min(MAX_MS, wait * 2)
  }
  let stopped = false
  const onLook = () => {
    if (!document.hidden) void ask()
  }
  const stop = () => {
    stopped = true
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', onLook)
    window.removeEventListener('focus', onLook)
  }
  document.addEventListener('visibilitychange', onLook)
  window.addEventListener('focus', onLook)
  timer = setTimeout(ask, wait)
  return stop
}
