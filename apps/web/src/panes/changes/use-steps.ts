import { startTransition, useEffect, useState } from 'react'

/** More than the highest screen shows of a list of files. */
const FIRST = 40
/** So few that a step takes less than a frame: somebody may scroll already. */
const STEP = 25

/**
 * How many files are drawn: the first ones at once, the others in steps after what is seen has been painted. It grows to
 * `total`, so that the browser's own search and a screen reader find all of them.
 */
export function useSteps(total: number): number {
  const [drawn, setDrawn] = useState(FIRST)
  const isDone = drawn >= total
  useEffect(() => {
    if (isDone) return
    let timer: ReturnType<typeof setTimeout>
    // A task of its own after a frame: in the frame itself it would be painted together with what is seen.
    const frame = requestAnimationFrame(() => {
      timer = setTimeout(() => startTransition(() => setDrawn(before => before + STEP)))
    })
    return () => {
      cancelAnimationFrame(frame)
      clearTimeout(timer)
    }
  }, [drawn, isDone])
  return Math.min(drawn, total)
}
