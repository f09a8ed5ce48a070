import { useState } from 'react'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { useNoField } from '../../ui/keys/use-no-field.ts'
import { Icon } from '../../ui/marks/Icon.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { useMachines } from '../fleet/Machines.tsx'
import './away-notice.css'

interface AwayNoticeProps {
  sessionId: string
  harness: SessionStatus['harness']
  machine: NonNullable<SessionStatus['machine']>
}

/** In place of the composer of a session whose machine cannot be reached: what that means, and what still works. */
export default function AwayNotice({ sessionId, harness, machine }: AwayNoticeProps) {
  const { name, state } = machine
  useNoField()
  return (
    <div className="away-notice" role="status">
      <Icon name="offline" size={17} />
      <div>
        <p className="away-notice__title">
          {state === 'away' ? `${name} is away` : `Not heard from ${name} yet`}
        </p>
        <p>
          {state === 'away'
            ? `It has not been heard for 15 seconds. Its agent may still be at work there.`
            : `This server is not connected to the fleet, or has been for less than 15 seconds, so it does not know what happens on ${name}.`}{' '}
          What arrived until then can be read, searched and exported. Messages, answers, Stop, changes of
          files and forks work again when it is back.
        </p>
        {state === 'away' ? <TakeOver sessionId={sessionId} harness={harness} name={name} /> : null}
      </div>
    </div>
  )
}

/** Asked twice: what the machine does that is gone, or only cut off, is lost for this conversation. */
function TakeOver({ sessionId, harness, name }: { name: string } & Omit<AwayNoticeProps, 'machine'>) {
  const client = useClient()
  const machines = useMachines().data ?? []
  const [asking, setAsking] = useState(false)
  const [busy, setBusy] = useState<string | null>(null)
  const others = machines.filter(
    ({ state, agents, machine }) =>
      state === 'here' &&
      machine !== name &&
      (harness === null || agents.some(({ id, installed }) => id === harness && installed)),
  )
  if (machines.find(({ machine }) => machine === name)?.copies === false)
    return <p>{`${name} sends no copies of its sessions, so no other machine can go on with this one.`}</p>
  const takeOver = async (to: string) => {
    setBusy(to)
    try {
      const { asked, problem } = await client.fleet.takeover.mutate({ sessionId, to })
      if (problem !== null) toasts.error(`The session is on ${to} now. Its agent was not asked: ${problem}`)
      else toasts.info(`The session is on ${to} now.${asked ? ' Its agent was asked to go on.' : ''}`)
    } catch (error) {
      toasts.error(messageOf(error))
    }
    setBusy(null)
  }
  if (!asking)
    return (
      <p className="away-notice__actions">
        <Button size="small" onClick={() => setAsking(true)}>
          Go on elsewhere…
        </Button>
      </p>
    )
  return (
    <>
      <p>
        {others.length === 0
          ? 'No other machine is there that has this agent.'
          : `Another machine goes on with the last copy of the files and of the conversation. What ${name} did after it is named in the conversation. If ${name} comes back, it is refused: its agent is stopped, and what it did is kept there.`}
      </p>
      <p className="away-notice__actions">
        {others.map(({ machine }) => (
          <Button
            key={machine}
            size="small"
            look={others.length === 1 ? 'primary' : 'plain'}
            disabled={busy !== null}
            onClick={() => void takeOver(machine)}
          >
            {busy === machine ? `Continuing on ${machine}…` : `Continue on ${machine}`}
          </Button>
        ))}
        <Button size="small" look="quiet" disabled={busy !== null} onClick={() => setAsking(false)}>
          Cancel
        </Button>
      </p>
    </>
  )
}
