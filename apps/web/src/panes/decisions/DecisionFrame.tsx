import type { PermissionDecision, PermissionRequestEvent } from '@chirality/core'
import { type MouseEvent, type ReactNode, type Ref, useId, useSyncExternalStore } from 'react'
import { useStatus } from '../../state/fleet/use-fleet.ts'
import { isTyping } from '../../ui/keys/is-typing.ts'
import { Icon } from '../../ui/marks/Icon.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { subscribeFront } from './use-decision-keys.ts'

export interface DecisionFrameProps {
  sessionId: string
  title: string
  reason?: string | undefined
  /** Red instead of warm: what is asked for can do harm. */
  danger?: boolean
  children: ReactNode
  ref?: Ref<HTMLElement>
}

/** The only warm colour on the page. */
export function DecisionFrame({ danger = false, ...props }: DecisionFrameProps) {
  const id = useId()
  return (
    <section
      ref={props.ref}
      className={danger ? 'decision decision--danger' : 'decision'}
      aria-labelledby={id}
      onClickCapture={dropSecondClick}
    >
      <header className="decision__head">
        <Icon name={danger ? 'alert' : 'hand'} />
        <h3 id={id} className="decision__title">
          {props.title}
        </h3>
      </header>
      <div className="decision__body">
        {props.reason ? <p className="decision__reason">{props.reason}</p> : null}
        <PolicyProblem sessionId={props.sessionId} />
        {props.children}
      </div>
    </section>
  )
}

/** A rule that would have answered may be in the file that cannot be read: else nobody knows why it asks. */
function PolicyProblem({ sessionId }: { sessionId: string }) {
  const problem = useStatus(sessionId)?.policyProblem
  if (!problem) return null
  return (
    <div className="decision__problem">
      <p>No rule answered this: the policy file has an error.</p>
      <pre>{problem}</pre>
    </div>
  )
}

/** Of a double click the second half would hit what came into the place of the button: another card, another button. */
function dropSecondClick(event: MouseEvent): void {
  if (event.detail < 2 || !(event.target instanceof Element) || !event.target.closest('button')) return
  event.preventDefault()
  event.stopPropagation()
}

/** Which keys answer the card. Where a field has the focus they would be typed into it. */
export function KeyHint({ shown, keys }: { shown: boolean; keys: string }) {
  const typing = useSyncExternalStore(subscribeFront, () => isTyping(document.activeElement))
  if (!shown) return null
  return <Kbd>{typing ? `Esc, then ${keys}` : keys}</Kbd>
}

export interface DecisionProps {
  request: PermissionRequestEvent
  /** Sent, and no answer yet. */
  busy: boolean
  answer(decision: PermissionDecision): void
}
