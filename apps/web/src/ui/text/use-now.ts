import { useEffect, useState } from 'react'

const EVERY_MS = 30_000

/** The time, for what says how long ago something was: it gets old also when nothing happens. */
export function useNow(): number {
  const [, setNow] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return Date.now()
}
