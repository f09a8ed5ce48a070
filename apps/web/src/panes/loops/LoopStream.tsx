import { formatDuration } from '@chirality/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useStatus } from '../../state/fleet/use-fleet.ts'
import type { LoopTask } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { workFolder } from '../../state/server/work-place.ts'
import {
  ProjectRootContext,
  SessionActionsContext,
  SessionContext,
  useSessionHub,
} from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { useNow } from '../../ui/text/use-now.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { ChatPane } from '../chat/ChatPane.tsx'
import { statusLine } from '../sidebar/groups.logic.ts'

/** Running part of a task: its agent, as the session page shows it, or the command that runs after it. */
export function LoopStream({ loopId, task, first }: { loopId: string; task: LoopTask; first: boolean }) {
  // Until a person chooses, the first task at work is open: the next one when that has ended.
  const [choice, setChoice] = useState<boolean | null>(null)
  const isOpen = choice ?? first
  const { sessionId, title, stage } = task
  const status = useStatus(sessionId ?? '')
  const now = useNow()
  if (sessionId === null) return null
  const isChecked = stage === 'set-up' || stage === 'checks' || stage === 'merging'
  return (
    <div className="loops__live">
      <p>
        <span className="truncate">{status && !isChecked ? statusLine(status, now) : ''}</span>
        <span className="spacer" />
        <Button
          size="small"
          look="quiet"
          aria-expanded={isOpen}
          aria-label={`${isOpen ? 'Hide' : 'Show'} the work on ${title}`}
          onClick={() => setChoice(!isOpen)}
        >
          {isOpen ? 'Hide' : 'Show'}
        </Button>
        <Link to="/s/$sessionId" params={{ sessionId }} aria-label={`Open its session: ${title}`}>
          Open its session
        </Link>
      </p>
      {isOpen && isChecked ? <RunningCommand loopId={loopId} task={task} /> : null}
      {isOpen && !isChecked && status && status.lastSeq > 0 ? <Stream sessionId={sessionId} /> : null}
    </div>
  )
}

/** Nothing is sent from here but the answer to a request: for the rest there is the page of the session. */
function Stream({ sessionId }: { sessionId: string }) {
  const hub = useSessionHub()
  const status = useStatus(sessionId)
  const lastSeq = status?.lastSeq ?? 0
  // How long the log was when it was opened is all that counts.
  useEffect(() => hub.follow(sessionId, lastSeq), [hub, sessionId])
  if (!status) return null
  return (
    <SessionContext value={hub.store(sessionId)}>
      <ProjectRootContext value={workFolder(status)}>
        <SessionActionsContext value={NO_ACTIONS}>
          <div className="loops__stream">
            <ChatPane />
          </div>
        </SessionActionsContext>
      </ProjectRootContext>
    </SessionContext>
  )
}

const NO_ACTIONS = {}
const ASK_MS = 1_000

/** The set-up command or the check, with what it prints. */
function RunningCommand({ loopId, task }: { loopId: string; task: LoopTask }) {
  const client = useClient()
  const now = useNow()
  const { data } = useQuery(
    client.loops.task.queryOptions(
      { loopId, task: task.id },
      { refetchInterval: ASK_MS, placeholderData: keepPreviousData, gcTime: 0 },
    ),
  )
  const running = data?.running
  if (!running) return null
  return (
    <div>
      <p>
        <code className="loops__command">{running.command}</code>
        <span className="spacer" />
        <span className="number">{formatDuration(Math.max(0, now - Date.parse(running.since)))}</span>
      </p>
      {running.output.trim() === '' ? null : (
        <ScrollRegion className="page__text" label={`Output of ${running.command}`}>
          <pre>{running.output.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n')}</pre>
        </ScrollRegion>
      )}
    </div>
  )
}

/** The end is what changes. */
const SHOWN_LINES = 12
