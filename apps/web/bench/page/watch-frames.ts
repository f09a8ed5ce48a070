export interface FrameReport {
  fps: number
  /** The longest task, in milliseconds; 0 when none took 50 ms or more. */
  longestTaskMs: number
  longTasks: number
}

/** Counts frames and long tasks until it is stopped. */
export function watchFrames(): { stop(): FrameReport } {
  const start = performance.now()
  let count = 0
  let running = true
  requestAnimationFrame(function step() {
    count += 1
    if (running) requestAnimationFrame(step)
  })
  const tasks: number[] = []
  const observer = new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) tasks.push(duration)
  })
  observer.observe({ type: 'longtask' })
  return {
    stop: () => {
      running = false
      for (const { duration } of observer.takeRecords()) tasks.push(duration)
      observer.disconnect()
      const seconds = (performance.now() - start) / 1000
      return { fps: count / seconds, longestTaskMs: Math.max(0, ...tasks), longTasks: tasks.length }
    },
  }
}
