import { useState } from 'react'
import { Button } from '../../ui/Button.tsx'
import { ScrollRegion } from '../../ui/ScrollRegion.tsx'
import { DecisionFrame } from './DecisionFrame.tsx'
import { DenyForm } from './DenyForm.tsx'
import { decisionTitle } from './decision.logic.ts'
import type { DecisionProps } from './decision-props.ts'
import { EditForm } from './EditForm.tsx'

/** A request of a sort that this version does not know is shown whole: never invisible, never silently denied. */
export function UnknownDecision({ request, busy, answer }: DecisionProps) {
  const [form, setForm] = useState<'edit' | 'deny' | null>(null)
  const back = () => setForm(null)
  return (
    <DecisionFrame title={decisionTitle(request, request.toolName)} reason={request.reason}>
      <ScrollRegion className="decision__asked" label="The request as JSON">
        <pre>{JSON.stringify(request.raw ?? request.input, null, 2)}</pre>
      </ScrollRegion>
      {form === 'edit' ? <EditForm request={request} busy={busy} answer={answer} onBack={back} /> : null}
      {form === 'deny' ? <DenyForm busy={busy} answer={answer} onBack={back} /> : null}
      {form === null ? (
        <div className="decision__row">
          <Button disabled={busy} onClick={() => answer({ behavior: 'allow' })}>
            Allow
          </Button>
          <Button look="quiet" disabled={busy} onClick={() => setForm('edit')}>
            Answer with JSON
          </Button>
          <Button look="quiet" disabled={busy} onClick={() => setForm('deny')}>
            Deny…
          </Button>
        </div>
      ) : null}
    </DecisionFrame>
  )
}
