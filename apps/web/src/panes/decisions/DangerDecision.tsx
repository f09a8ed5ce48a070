import { type CallRisk, factsOf, riskTitle } from '@chirality/core'
import { useEffect, useRef, useState } from 'react'
import { Button } from '../../ui/controls/Button.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { DecisionFrame, type DecisionProps, KeyHint } from './DecisionFrame.tsx'
import { DenyForm } from './DenyForm.tsx'
import { useDecisionDraft } from './decision-drafts.ts'
import { EditForm } from './EditForm.tsx'
import { markedParts } from './marked-parts.ts'
import { Asked } from './ToolDecision.tsx'
import { useDecisionKeys } from './use-decision-keys.ts'

/** A call that the server found dangerous. No key and no single click runs it, and nothing of it is remembered. */
export function DangerDecision({ request, busy, answer }: DecisionProps) {
  const [form, setForm] = useDecisionDraft<'edit' | 'deny' | null>(request.requestId, 'form', null)
  const { risks = [], reason } = request
  const { command, purpose } = factsOf(request)
  const card = useRef<HTMLElement>(null)
  const hasKeys = useDecisionKeys(card, {
    edit: () => setForm('edit'),
    deny: () => setForm('deny'),
    enabled: form === null && !busy,
  })
  const back = () => setForm(null)
  const why = reason ?? purpose
  return (
    <DecisionFrame ref={card} request={request} title={riskTitle(risks)} danger>
      {form === 'edit' ? (
        <EditForm request={request} busy={busy} answer={answer} onBack={back} />
      ) : (
        <>
          {command !== undefined ? (
            <MarkedCommand command={command} risks={risks} />
          ) : (
            <Asked request={request} />
          )}
          <ol className="risks">
            {risks.map(({ words }, index) => (
              <li key={words}>
                <span className="risks__number" aria-hidden="true">
                  {index + 1}
                </span>
                <span>{words}</span>
              </li>
            ))}
          </ol>
          {why ? <p className="decision__reason">{`“${why}”`}</p> : null}
          {form === 'deny' ? (
            <DenyForm request={request} busy={busy} answer={answer} onBack={back} />
          ) : (
            <>
              <div className="decision__row">
                <HoldButton disabled={busy} onHeld={() => answer({ behavior: 'allow' })}>
                  Hold to run it once
                </HoldButton>
                <Button look="quiet" disabled={busy} onClick={() => setForm('edit')}>
                  Edit
                </Button>
                <span className="spacer" />
                <Button look="primary" disabled={busy} onClick={() => setForm('deny')}>
                  Deny with a reason…
                </Button>
              </div>
              <div className="decision__foot">
                <p className="decision__fine">
                  “Always allow” is not offered: a call like this is looked at each time.
                </p>
                <span className="spacer" />
                <KeyHint shown={hasKeys} keys="E · D" />
              </div>
            </>
          )}
        </>
      )}
    </DecisionFrame>
  )
}

function MarkedCommand({ command, risks }: { command: string; risks: readonly CallRisk[] }) {
  return (
    <ScrollRegion className="decision__asked" label="What is asked for">
      <pre>
        {markedParts(command, risks).map(({ text, risk }, index) =>
          risk === null ? (
            text
          ) : (
            <mark key={index} className="risk-mark">
              {text}
              <span className="risks__number" aria-hidden="true">
                {risk + 1}
              </span>
            </mark>
          ),
        )}
      </pre>
    </ScrollRegion>
  )
}

const HOLD_MS = 1000

/**
 * Acts when it is held down for a second, by pointer or by Enter. What presses it without holding, as a screen reader does, has
 * to press it twice.
 */
function HoldButton(props: { disabled: boolean; onHeld(): void; children: string }) {
  const { disabled, onHeld, children } = props
  const [state, setState] = useState<'rest' | 'held' | 'again'>('rest')
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const press = () => {
    if (disabled || timer.current !== undefined) return
    setState('held')
    timer.current = setTimeout(() => {
      timer.current = undefined
      setState('rest')
      onHeld()
    }, HOLD_MS)
  }
  const release = () => {
    clearTimeout(timer.current)
    timer.current = undefined
    setState(now => (now === 'held' ? 'rest' : now))
  }
  return (
    <button
      type="button"
      className={state === 'held' ? 'button button--danger hold hold--on' : 'button button--danger hold'}
      disabled={disabled}
      onPointerDown={event => event.button === 0 && press()}
      onPointerUp={release}
      onPointerLeave={release}
      onPointerCancel={release}
      onBlur={release}
      onContextMenu={event => event.preventDefault()}
      onKeyDown={event => {
        if (event.key !== 'Enter' && event.key !== ' ') return
        event.preventDefault()
        if (!event.repeat) press()
      }}
      onKeyUp={release}
      onClick={event => {
        // A pointer has pressed and let go before it clicks: it did not hold.
        if (event.detail > 0) return
        if (state === 'again') onHeld()
        else setState('again')
      }}
    >
      <Icon name="alert" size={14} />
      {state === 'again' ? 'Press again to run it once' : children}
    </button>
  )
}
