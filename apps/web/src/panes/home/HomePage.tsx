import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { fromSlug, projectName } from '../../app/project.ts'
import { NotificationChoice } from '../../notices/NotificationChoice.tsx'
import { useFleet } from '../../state/fleet/use-fleet.ts'
import type { ServerInfo } from '../../state/server/answers.ts'
import { useClient, useHarnesses } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { useDemo } from '../chat/FirstMessage.tsx'
import { unarchived } from '../sidebar/groups.logic.ts'
import { HarnessChecklist } from './HarnessChecklist.tsx'
import { HomeComposer } from './HomeComposer.tsx'
import { Lately, NeedsYou, Today, Working } from './HomeLists.tsx'
import './home.css'

/** The first page: say what should be done, and see what needs you, what runs and what ended. */
export function HomePage() {
  const project = fromSlug(useParams({ strict: false }).project)
  const fleet = useFleet()
  const harnesses = useHarnesses()
  const listed = unarchived(fleet)
  const sessions = project ? listed.filter(({ projectRoot }) => projectRoot === project) : listed
  const demo = useDemo()
  // Who tried only the demo, or nothing, still has a first own session before them.
  const isFirstRun = sessions.every(
    ({ projectRoot, lastTurn, phase }) =>
      projectRoot === demo?.projectRoot || (lastTurn === null && phase === 'idle'),
  )
  return (
    <ScrollRegion className="home" label="Start">
      <div className="home__page">
        <h1 className="home__hero">{project ? projectName(project) : 'What should be done?'}</h1>
        <HomeComposer key={project ?? ''} project={project} demo={demo?.projectRoot} />
        {isFirstRun && demo ? <DemoCard demo={demo} /> : null}
        <NeedsYou sessions={sessions} project={project} />
        <Working sessions={sessions} />
        {project ? null : <Today />}
        <Lately sessions={sessions} />
        {isFirstRun ? <HarnessChecklist harnesses={harnesses} /> : null}
        <NotificationChoice askOnly={!isFirstRun} />
      </div>
    </ScrollRegion>
  )
}

/** The demo needs none of the agents. */
function DemoCard({ demo }: { demo: NonNullable<ServerInfo['demo']> }) {
  const client = useClient()
  const navigate = useNavigate()
  const [busy, setBusy] = useState(false)
  const untried = useFleet().find(
    ({ projectRoot, lastTurn, phase }) =>
      projectRoot === demo.projectRoot && lastTurn === null && phase === 'idle',
  )
  const openDemo = async () => {
    setBusy(true)
    try {
      const { id } = untried
        ? { id: untried.sessionId }
        : await client.sessions.create.mutate({ project: demo.projectRoot, ...demo.session })
      await navigate({ to: '/s/$sessionId', params: { sessionId: id } })
    } catch (error) {
      toasts.error(messageOf(error))
      setBusy(false)
    }
  }
  return (
    <section className="demo-card" aria-label="Demo">
      <p>
        <b>No account yet?</b> The demo needs none: a small model that follows a script reads files, asks you,
        edits and runs tests, for real, in a folder of its own.
      </p>
      <Button disabled={busy} onClick={() => void openDemo()}>
        Try the demo
      </Button>
    </section>
  )
}
