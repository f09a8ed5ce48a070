import type { PermissionDecision, PermissionRequestEvent } from '@chirality/core'
import { type MouseEvent, type ReactNode, type Ref, use, useId, useSyncExternalStore } from 'react'
import { awayWords } from '../../app/project.ts'
import { useStatus } from '../../state/fleet/use-fleet.ts'
import type { SessionStore } from '../../state/session/session-store.ts'
import { SessionContext, useStorePart } from '../../state/session/use-session.ts'
import { isTyping } from '../../ui/keys/is-typing.ts'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { formatWait } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'
import { subscribeFront } from './use-decision-keys.ts'

export interface DecisionFrameProps {
  request: PermissionRequestEvent
  title: string
  /** Why it is asked: in the words of who asks. */
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
        {danger ? <Icon name="alert" /> : <Dot tone="need" />}
        <h3 id={id} className="decision__title">
          {props.title}
        </h3>
        <Waiting requestId={props.request.requestId} />
      </header>
      <div className="decision__body">
        {props.reason ? <p className="decision__reason">{props.reason}</p> : null}
        <PolicyProblem sessionId={props.request.sessionId} />
        <Away sessionId={props.request.sessionId} />
        {props.children}
      </div>
    </section>
  )
}

/** Since when somebody is asked. Where no log is at hand, as in the tray, nobody knows. */
function Waiting({ requestId }: { requestId: string }) {
  const store = use(SessionContext)
  return store ? <WaitingSince store={store} requestId={requestId} /> : null
}

function WaitingSince({ store, requestId }: { store: SessionStore; requestId: string }) {
  const at = useStorePart(
    store,
    ({ extras }) => extras.asked.findLast(one => one.requestId === requestId)?.at,
  )
  const now = useNow()
  return at === undefined ? null : <span className="decision__waiting">{formatWait(at, now)}</span>
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

/** Why it cannot be answered now. */
function Away({ sessionId }: { sessionId: string }) {
  const away = awayWords(useStatus(sessionId)?.machine)
  return away === null ? null : <p>{`${away}: it can be answered when it is back.`}</p>
}

/** Drops the second half of a double click: it would hit the card or button that came into the place of the first. */
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

/** The keys on the buttons of a card. They keep their place while they would not work, so that nothing moves. */
export function useKeysShown(hasKeys: boolean): 'yes' | 'after-escape' | 'no' {
  const typing = useSyncExternalStore(subscribeFront, () => isTyping(document.activeElement))
  if (!hasKeys) return 'no'
  return typing ? 'after-escape' : 'yes'
}

export function ButtonKeys({ shown, keys }: { shown: ReturnType<typeof useKeysShown>; keys: string }) {
  return (
    <span className={shown === 'yes' ? 'keys keys--on' : 'keys'} aria-hidden="true">
      {keys.split(' ').map(key => (
        <Kbd key={key}>{key}</Kbd>
      ))}
    </span>
  )
}

/** Between the buttons at the left and those at the right. */
export function KeysSpacer({ shown }: { shown: ReturnType<typeof useKeysShown> }) {
  return (
    <span className="spacer decision__escape">{shown === 'after-escape' ? 'Esc, then a key' : null}</span>
  )
}

export interface DecisionProps {
  request: PermissionRequestEvent
  /** Sent, and no answer yet; or the machine that asks cannot be reached. */
  busy: boolean
  /** `after` runs when the answer is taken. */
  answer(decision: PermissionDecision, after?: () => Promise<void>): void
}
