import { asOf } from '@chirality/client/queries'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useState } from 'react'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { useSession } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { isTyping } from '../../ui/keys/is-typing.ts'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { type StopStep, stoppedWords, stopStep } from './stop.logic.ts'

/** Asks first, then ends by force, and says what is left: 0 processes is the promise. */
export function StopButton({ status, busy }: { status: SessionStatus; busy: boolean }) {
  const client = useClient()
  const { sessionId } = status
  const hasCard = status.pending.length > 0
  const turnId = useSession(({ state }) => state.turns.at(-1)?.id ?? null)
  const exit = useSession(({ extras }) => extras.exit)
  const reason = useSession(({ state }) => state.turns.at(-1)?.reason ?? null)
  const [asked, setAsked] = useState<{ turnId: string | null; killed: boolean } | null>(null)
  const current = asked?.turnId === turnId ? asked : null
  const isOver = current !== null && !busy && status.phase === 'idle'
  const leftovers = useQuery(
    asOf(
      client.turns.leftovers.queryOptions(
        { sessionId },
        {
          enabled: isOver && exit?.leftRunning == null,
          // A program that a tool had started may take a moment to end.
          refetchInterval: query => ((query.state.data?.left ?? 0) > 0 ? LOOK_AGAIN_MS : false),
          staleTime: 0,
          retry: false,
        },
      ),
      turnId,
    ),
  ).data
  const step: StopStep = stopStep({
    ...{ busy, reason, exit, asked: current, phase: status.phase },
    leftovers: leftovers ?? null,
  })

  const stop = (killed: boolean) => {
    setAsked({ turnId, killed })
    const call = killed
      ? client.turns.kill.mutate({ sessionId })
      : client.turns.interrupt.mutate({ sessionId })
    call.catch((error: unknown) => toasts.error(messageOf(error), sessionId))
  }
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !busy || event.defaultPrevented) return
    // Plain Escape belongs to whatever is open first, and never ends by force.
    const isFree = !hasCard && step.kind === 'can-stop' && !isTaken(event.target)
    if (!event.shiftKey && !isFree) return
    event.preventDefault()
    stop(event.shiftKey && step.kind === 'asked')
  })
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event)
    window.addEventListener('keydown', listener)
    return () => window.removeEventListener('keydown', listener)
  }, [])

  switch (step.kind) {
    case 'none':
      return null
    case 'can-stop':
      return (
        <Button className="stop-button" look={hasCard ? 'plain' : 'primary'} onClick={() => stop(false)}>
          <span className="stop-button__mark" aria-hidden="true" />
          Stop
          <span className="stop-button__key" aria-hidden="true">
            <Kbd>{hasCard ? '⇧ Esc' : 'Esc'}</Kbd>
          </span>
        </Button>
      )
    case 'asked':
      return (
        <>
          <span className="stop" role="status">
            Asked to stop…
          </span>
          <Button look="danger" onClick={() => stop(true)}>
            End by force
          </Button>
        </>
      )
    case 'ending':
      return (
        <span className="stop" role="status">
          Ending its processes…
        </span>
      )
    case 'stopped':
      return (
        <span className={step.left ? 'stop stop--bad' : 'stop'} role="status">
          {stoppedWords(step)}
        </span>
      )
  }
}

const LOOK_AGAIN_MS = 1000

/** Whether something else has Escape: a dialog, a menu, or a field in which something stands. */
function isTaken(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open], [role="menu"], [role="listbox"]')) return true
  if (target instanceof HTMLTextAreaElement && target.id === 'composer') return target.value !== ''
  return isTyping(target)
}
