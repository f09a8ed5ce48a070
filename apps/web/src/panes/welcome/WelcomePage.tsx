import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { fromSlug, projectName } from '../../app/project.ts'
import { useShell } from '../../app/shell/shell-context.ts'
import { NotificationChoice } from '../../notices/NotificationChoice.tsx'
import { useFleet } from '../../state/fleet/use-fleet.ts'
import { useApi, useHarnesses } from '../../state/server/use-api.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { HarnessChecklist } from './HarnessChecklist.tsx'
import './welcome.css'

/** The first page: something that works at once, and what is missing for the rest. */
export function WelcomePage() {
  const api = useApi()
  const shell = useShell()
  const navigate = useNavigate()
  const project = fromSlug(useParams({ strict: false }).project)
  const [busy, setBusy] = useState(false)
  const harnesses = useHarnesses()
  const demo = useQuery({ queryKey: ['info'], queryFn: () => api.info() }).data?.demo
  const untried = useFleet().find(
    ({ projectRoot, lastTurn, phase }) =>
      projectRoot === demo?.projectRoot && lastTurn === null && phase === 'idle',
  )

  const openDemo = async (root: string) => {
    setBusy(true)
    try {
      const { id } = untried ? { id: untried.sessionId } : await api.createSession(root, DEMO_SESSION)
      await navigate({ to: '/s/$sessionId', params: { sessionId: id } })
    } catch (error) {
      toasts.error(messageOf(error))
      setBusy(false)
    }
  }

  return (
    <ScrollRegion className="welcome" label="Start">
      <div className="welcome__page">
        <h1>{project ? projectName(project) : 'What should be done?'}</h1>
        <p className="welcome__lead">
          An agent works in a folder of yours. You see all that it says and does, and it asks before it
          changes something.
        </p>
        <div className="welcome__row">
          <Button
            look="primary"
            onClick={() => shell.open({ kind: 'new-session', ...(project ? { project } : {}) })}
          >
            New session <Kbd>N</Kbd>
          </Button>
          {demo ? (
            <Button disabled={busy} onClick={() => void openDemo(demo.projectRoot)}>
              Try the demo
            </Button>
          ) : null}
        </div>
        {demo ? (
          <p className="welcome__note">
            The demo needs no account: a small model that follows a script reads files, asks you, edits and
            runs tests, for real, in a folder of its own.
          </p>
        ) : null}
        <HarnessChecklist harnesses={harnesses} />
        <NotificationChoice />
      </div>
    </ScrollRegion>
  )
}

/** The agent that needs no account, on the model that plays a script. */
const DEMO_SESSION = {
  harness: 'messages-api',
  model: 'demo',
  permissionMode: 'default',
  title: 'Mend the failing test',
} as const
