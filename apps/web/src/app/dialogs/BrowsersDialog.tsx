import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SignedInBrowser } from '../../state/server/answers.ts'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
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
  const client = useClient()
  const askAgain = useAskAgain()
  const [problem, setProblem] = useState<string | null>(null)
  const [leaving, setLeaving] = useState<string | null>(null)
  const listed = useQuery(client.system.browsers.queryOptions(undefined, { staleTime: 0, retry: false }))
  const signOut = async (id: string) => {
    setLeaving(id)
    setProblem(null)
    try {
      await client.system.revokeBrowser.mutate({ id })
      await askAgain(client.system.browsers.queryFilter())
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
            isLeaving={leaving !== null}
            onSignOut={() => void signOut(browser.id)}
          />
        ))}
      </ul>
    </div>
  )
}

function BrowserRow({
  browser: { name, origin, address, lastSeenAt, isConnected, isCaller, remembered },
  isLeaving,
  onSignOut,
}: {
  browser: SignedInBrowser
  isLeaving: boolean
  onSignOut(): void
}) {
  const now = useNow()
  const where = `${name}${isCaller ? ' (this browser)' : ''}`
  const seen = isConnected ? 'open now' : `last seen ${formatAge(lastSeenAt, now)}`
  const facts = [origin || 'no page', address ?? '', remembered ? seen : `${seen}, until the server stops`]
  return (
    <li className="browsers__row">
      <span className="browsers__name">
        <span>{where}</span>
        <span className="browsers__facts">{facts.filter(Boolean).join(' · ')}</span>
      </span>
      <Button size="small" disabled={isLeaving} aria-label={`Sign out ${where}`} onClick={onSignOut}>
        Sign out
      </Button>
    </li>
  )
}
