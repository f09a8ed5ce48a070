import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useStatus } from '../../state/fleet/use-fleet.ts'
import type { ServerInfo, SessionStatus } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { sendMessage } from '../../state/session/send-message.ts'
import { useProjectRoot, useSessionStore } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'

/** A session without a word in it. In the demo one button says the first. */
export function FirstMessage() {
  const client = useClient()
  const { sessionId } = useSessionStore()
  const projectRoot = useProjectRoot()
  const worktree = useStatus(sessionId)?.worktree
  const [sent, setSent] = useState(false)
  const demo = useDemo()
  if (demo?.projectRoot !== projectRoot) {
    return (
      <Empty title="Nothing here yet">
        Write what you want done. The agent works in{' '}
        {worktree
          ? `a worktree of its own${worktree.branch ? `, on the branch ${worktree.branch}` : ''}.`
          : "this project's folder."}
      </Empty>
    )
  }
  const send = (text: string) => {
    setSent(true)
    sendMessage(client, sessionId, { text }).catch((error: unknown) => {
      setSent(false)
      toasts.error(messageOf(error), sessionId)
    })
  }
  return (
    <Empty title="A small project with a fault">
      <p>
        The agent runs its test, asks before it changes something, and mends it. The model follows a script;
        the rest is real.
      </p>
      <p className="first-message">
        <Button look="primary" disabled={sent} onClick={() => send(demo.prompt)}>
          {demo.prompt}
        </Button>
      </p>
    </Empty>
  )
}

/** The way from the demo to work of one's own. */
export function AfterDemo({ status }: { status: SessionStatus }) {
  const demo = useDemo()
  if (demo?.projectRoot !== status.projectRoot || status.lastTurn === null || status.phase !== 'idle')
    return null
  return (
    <p className="after-demo">
      This was the demo. <Link to="/">Work in a folder of your own</Link>
    </p>
  )
}

export function useDemo(): ServerInfo['demo'] {
  const client = useClient()
  return useQuery(client.system.info.queryOptions()).data?.demo ?? null
}
