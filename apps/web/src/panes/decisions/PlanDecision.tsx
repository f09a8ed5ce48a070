import { useState } from 'react'
import { Markdown } from '../../markdown/Markdown.tsx'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { ScrollRegion } from '../../ui/ScrollRegion.tsx'
import { DecisionFrame } from './DecisionFrame.tsx'
import type { DecisionProps } from './decision-props.ts'

/** A plan is taken as it is, or sent back with what should be different. */
export function PlanDecision({ request, busy, answer }: DecisionProps) {
  const [comment, setComment] = useState('')
  const { plan } = request.input
  const hasComment = comment.trim() !== ''
  return (
    <DecisionFrame title="Is this plan right?" reason={request.reason}>
      <ScrollRegion className="decision__plan" label="The plan">
        <Markdown text={typeof plan === 'string' ? plan : JSON.stringify(request.input, null, 2)} />
      </ScrollRegion>
      <Field label="Comments">
        {id => (
          <textarea
            id={id}
            className="input"
            rows={2}
            value={comment}
            onChange={event => setComment(event.target.value)}
            placeholder="What should be different?"
          />
        )}
      </Field>
      <div className="decision__row">
        <Button
          look={hasComment ? 'plain' : 'primary'}
          disabled={busy || hasComment}
          onClick={() => answer({ behavior: 'allow' })}
        >
          Go ahead
        </Button>
        <Button
          look={hasComment ? 'primary' : 'plain'}
          disabled={busy || !hasComment}
          onClick={() => answer({ behavior: 'deny', message: comment.trim() })}
        >
          Send back with comments
        </Button>
        <Button look="quiet" disabled={busy} onClick={() => answer({ behavior: 'deny', interrupt: true })}>
          Drop it and stop
        </Button>
      </div>
    </DecisionFrame>
  )
}
