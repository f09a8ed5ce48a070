import { useRef } from 'react'
import { Markdown } from '../../markdown/Markdown.tsx'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { leave } from '../../ui/keys/leave.ts'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import type { DecisionProps } from './DecisionFrame.tsx'
import { DecisionFrame, KeyHint } from './DecisionFrame.tsx'
import { useDecisionDraft } from './decision-drafts.ts'
import { useDecisionKeys } from './use-decision-keys.ts'

/** A plan is taken as it is, or sent back with what should be different. */
export function PlanDecision({ request, busy, answer }: DecisionProps) {
  const [comment, setComment] = useDecisionDraft(request.requestId, 'comment', '')
  const card = useRef<HTMLElement>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const { plan } = request.input
  const hasComment = comment.trim() !== ''
  const accept = () => answer({ behavior: 'allow' })
  const sendBack = () => answer({ behavior: 'deny', message: comment.trim() })
  const hasKeys = useDecisionKeys(card, {
    allow: hasComment ? undefined : accept,
    edit: () => field.current?.focus(),
    deny: () => field.current?.focus(),
    enabled: !busy,
  })
  return (
    <DecisionFrame ref={card} request={request} title="Is this plan right?" reason={request.reason}>
      <ScrollRegion className="decision__plan" label="The plan">
        <Markdown text={typeof plan === 'string' ? plan : JSON.stringify(request.input, null, 2)} />
      </ScrollRegion>
      <Field label="Comments">
        {id => (
          <textarea
            id={id}
            ref={field}
            className="input"
            rows={2}
            value={comment}
            onChange={event => setComment(event.target.value)}
            onKeyDown={event => {
              if (event.key === 'Escape') leave(event, () => field.current?.blur())
              if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return
              if (hasComment && !busy) sendBack()
            }}
            placeholder="What should be different?"
          />
        )}
      </Field>
      <div className="decision__row">
        <Button look={hasComment ? 'plain' : 'primary'} disabled={busy || hasComment} onClick={accept}>
          Go ahead
        </Button>
        <Button look={hasComment ? 'primary' : 'plain'} disabled={busy || !hasComment} onClick={sendBack}>
          Send back with comments
        </Button>
        <Button look="quiet" disabled={busy} onClick={() => answer({ behavior: 'deny', interrupt: true })}>
          Drop it and stop
        </Button>
        <span className="spacer" />
        {hasComment ? <Kbd>Ctrl Enter</Kbd> : <KeyHint shown={hasKeys} keys="A · E" />}
      </div>
    </DecisionFrame>
  )
}
