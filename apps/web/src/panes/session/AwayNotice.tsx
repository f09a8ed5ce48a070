import type { SessionStatus } from '../../state/server/server-api.ts'
import { Icon } from '../../ui/marks/Icon.tsx'
import './away-notice.css'

/** In place of the composer of a session whose machine cannot be reached: what that means, and what still works. */
export default function AwayNotice({ machine }: { machine: NonNullable<SessionStatus['machine']> }) {
  const { name, state } = machine
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
          What arrived until then can be read, searched and exported. Messages, answers and Stop work again
          when it is back.
        </p>
      </div>
    </div>
  )
}
