import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { projectName } from '../../app/project-name.ts'
import { useShell } from '../../app/shell-context.ts'
import { useApi } from '../../state/use-api.ts'
import { Button } from '../../ui/Button.tsx'
import { messageOf } from '../../ui/error-message.ts'
import { Kbd } from '../../ui/Kbd.tsx'
import { ScrollRegion } from '../../ui/ScrollRegion.tsx'
import { toasts } from '../../ui/toast-store.ts'
import { demoProject } from './demo.ts'
import { HarnessChecklist } from './HarnessChecklist.tsx'
import { NotificationChoice } from './NotificationChoice.tsx'
import './welcome.css'

/** The first page: something that works at once, and what is missing for the rest. */
export function WelcomePage() {
  const api = useApi()
  const shell = useShell()
  const navigate = useNavigate()
  const { project } = useParams({ strict: false })
  const [busy, setBusy] = useState(false)
  const projects = useQuery({ queryKey: ['projects'], queryFn: () => api.projects() }).data ?? []
  const harnesses = useQuery({ queryKey: ['harnesses'], queryFn: () => api.harnesses() }).data ?? []
  const demo = demoProject(projects, harnesses)

  const startDemo = async (root: string) => {
    setBusy(true)
    try {
      await api.openProject(root)
      const { id } = await api.createSession(root, {
        ...(demo?.harness ? { harness: demo.harness } : {}),
        title: 'Demo',
      })
      await api.send(id, { text: demo?.message ?? '' })
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
            <Button disabled={busy} onClick={() => void startDemo(demo.root)}>
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
