import { useEffect, useState } from 'react'
import { useConnection } from '../../state/server/use-client.ts'
import { staysSignedIn } from '../../state/sign-in/sign-in.ts'

/** A short gap heals by itself, and nobody needs to know. */
const PATIENCE_MS = 800

export function OfflineBanner() {
  const state = useConnection()
  const [late, setLate] = useState(false)
  const [staysIn, setStaysIn] = useState(true)
  useEffect(() => void staysSignedIn().then(setStaysIn), [])
  useEffect(() => {
    if (state !== 'offline') return setLate(false)
    const timer = setTimeout(() => setLate(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [state])
  if (!late) return null
  return (
    <p className="offline" role="alert">
      No connection to the server. Nothing is lost: this page looks for it and catches up by itself when it is
      back.
      {staysIn ? null : (
        <>
          {' '}
          If it is started anew, sign in with the link that <code>chirality link</code> prints.
        </>
      )}
    </p>
  )
}
