import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { SignedInBrowser } from '../../state/server/server-api.ts'
import { useApi } from '../../state/server/use-api.ts'
import { loadBrowserKey } from '../../state/sign-in/browser-key.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatAge } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'
import './browsers.css'

export default function BrowsersDialog({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Signed-in browsers" onClose={onClose}>
      <SignedInBrowsers />
    </Dialog>
  )
}

/** The browsers that may use this server, each with the way to send it out. */
export function SignedInBrowsers() {
  const api = useApi()
  const queries = useQueryClient()
  const [problem, setProblem] = useState<string | null>(null)
  const [leaving, setLeaving] = useState<string | null>(null)
  const listed = useQuery({ queryKey: QUERY, queryFn: () => api.browsers(), staleTime: 0, retry: false })
  const own = useQuery({
    queryKey: ['own-browser'],
    queryFn: ownBrowser,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const signOut = async (id: string) => {
    setLeaving(id)
    setProblem(null)
    try {
      await api.revokeBrowser(id)
      await queries.invalidateQueries({ queryKey: QUERY })
    } catch (error) {
      setProblem(messageOf(error))
    } finally {
      setLeaving(null)
    }
  }
  const failure = problem ?? (listed.error ? messageOf(listed.error) : null)
  return (
    <div className="browsers">
      <p className="browsers__about">
        Each of these can run agents on this machine. One that is signed out needs a new link:{' '}
        <code>chirality link</code> prints it.
      </p>
      {failure ? (
        <p className="browsers__problem" role="alert">
          {failure}
        </p>
      ) : null}
      <ul className="browsers__list">
        {(listed.data ?? []).map(browser => (
          <BrowserRow
            key={browser.id}
            browser={browser}
            isOwn={browser.id === own.data}
            isLeaving={leaving !== null}
            onSignOut={() => void signOut(browser.id)}
          />
        ))}
      </ul>
    </div>
  )
}

const QUERY = ['browsers']

/** Null where this browser keeps no key: it is in the list, and nothing says which it is. */
async function ownBrowser(): Promise<string | null> {
  return (await loadBrowserKey())?.browser ?? null
}

function BrowserRow({
  browser: { name, origin, lastSignInAt, remembered },
  isOwn,
  isLeaving,
  onSignOut,
}: {
  browser: SignedInBrowser
  isOwn: boolean
  isLeaving: boolean
  onSignOut(): void
}) {
  const now = useNow()
  const where = `${name}${isOwn ? ' (this browser)' : ''}`
  const lasts = remembered ? '' : ', until the server stops'
  return (
    <li className="browsers__row">
      <span className="browsers__name">
        <span>{where}</span>
        <span className="browsers__facts">{`${origin || 'no page'} · signed in ${formatAge(lastSignInAt, now)}${lasts}`}</span>
      </span>
      <Button size="small" disabled={isLeaving} aria-label={`Sign out ${where}`} onClick={onSignOut}>
        Sign out
      </Button>
    </li>
  )
}
