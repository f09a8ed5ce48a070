import { useEffect, useState } from 'react'
import { useConnection } from './use-connection.ts'

/** A short gap heals by itself, and nobody needs to know. */
const PATIENCE_MS = 800

export function OfflineBanner() {
  const state = useConnection()
  const [late, setLate] = useState(false)
  useEffect(() => {
    if (state !== 'offline') return setLate(false)
    const timer = setTimeout(() => setLate(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [state])
  if (!late) return null
  return (
    <p className="offline" role="alert">
      No connection to the server. Nothing is lost: this page catches up by itself when it is back.
    </p>
  )
}
