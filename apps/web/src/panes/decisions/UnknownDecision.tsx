import { useRef } from 'react'
import { Button } from '../../ui/controls/Button.tsx'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { decisionTitle } from '../../words/decision.logic.ts'
import type { DecisionProps } from './DecisionFrame.tsx'
import { DecisionFrame, KeyHint } from './DecisionFrame.tsx'
import { DenyForm } from './DenyForm.tsx'
import { useDecisionDraft } from './decision-drafts.ts'
import { EditForm } from './EditForm.tsx'
import { useDecisionKeys } from './use-decision-keys.ts'

/** A request of a sort that this version does not know is shown whole: never invisible, never silently denied. */
export function UnknownDecision({ request, busy, answer }: DecisionProps) {
  const [form, setForm] = useDecisionDraft<'edit' | 'deny' | null>(request.requestId, 'form', null)
  const back = () => setForm(null)
  const allow = () => answer({ behavior: 'allow' })
  const card = useRef<HTMLElement>(null)
  const hasKeys = useDecisionKeys(card, {
    allow,
    edit: () => setForm('edit'),
    deny: () => setForm('deny'),
    enabled: form === null && !busy,
  })
  return (
    <DecisionFrame ref={card} request={request} title={decisionTitle(request)} reason={request.reason}>
      <ScrollRegion className="decision__asked" label="The request as JSON">
        <pre>{JSON.stringify(request.raw ?? request.input, null, 2)}</pre>
      </ScrollRegion>
      {form === 'edit' ? <EditForm request={request} busy={busy} answer={answer} onBack={back} /> : null}
      {form === 'deny' ? <DenyForm request={request} busy={busy} answer={answer} onBack={back} /> : null}
      {form === null ? (
        <div className="decision__row">
          <Button disabled={busy} onClick={allow}>
            Allow
          </Button>
          <Button look="quiet" disabled={busy} onClick={() => setForm('edit')}>
            Answer with JSON
          </Button>
          <Button look="quiet" disabled={busy} onClick={() => setForm('deny')}>
            Deny…
          </Button>
          <span className="spacer" />
          <KeyHint shown={hasKeys} keys="A · E · D" />
        </div>
      ) : null}
    </DecisionFrame>
  )
}
