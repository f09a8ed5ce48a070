/** How often a page that nobody sees is brought up to date: the browser gives it no frames. */
const HIDDEN_PAGE_MS = 250

/** Runs once before the next paint, and also on a page that is not painted. */
export function onNextFrame(run: () => void): void {
  if (typeof requestAnimationFrame === 'undefined' || document.hidden) {
    setTimeout(run, HIDDEN_PAGE_MS)
    return
  }
  let done = false
  const once = () => {
    if (done) return
    done = true
    clearTimeout(timer)
    run()
  }
  // A page that is hidden between now and the frame would otherwise wait until it is seen again.
  const timer = setTimeout(once, HIDDEN_PAGE_MS)
  requestAnimationFrame(once)
}
