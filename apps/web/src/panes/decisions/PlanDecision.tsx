import { PERMISSION_WORDS } from '@chirality/core'
import { useRef } from 'react'
import { Markdown } from '../../markdown/Markdown.tsx'
import { useClient } from '../../state/server/use-client.ts'
import { useSettingsChanged } from '../../state/session/use-settings.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { leave } from '../../ui/keys/leave.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import type { DecisionProps } from './DecisionFrame.tsx'
import { ButtonKeys, DecisionFrame, KeysSpacer, useKeysShown } from './DecisionFrame.tsx'
import { useDecisionDraft } from './decision-drafts.ts'
import { useDecisionKeys } from './use-decision-keys.ts'

/** A plan is taken as it is, with edits asked about or not, or sent back with what should be different. */
export function PlanDecision({ request, busy, answer }: DecisionProps) {
  const [comment, setComment] = useDecisionDraft(request.requestId, 'comment', '')
  const client = useClient()
  const changed = useSettingsChanged(request.sessionId)
  const card = useRef<HTMLElement>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const { plan } = request.input
  const hasComment = comment.trim() !== ''
  const accept = () => answer({ behavior: 'allow' })
  const acceptEdits = () =>
    answer({ behavior: 'allow' }, async () => {
      await client.turns.setPermissionMode.mutate({ sessionId: request.sessionId, mode: 'acceptEdits' })
      changed()
    })
  const sendBack = () => answer({ behavior: 'deny', message: comment.trim() })
  const hasKeys = useDecisionKeys(card, {
    allow: hasComment ? undefined : accept,
    always: hasComment ? undefined : acceptEdits,
    edit: () => field.current?.focus(),
    deny: () => field.current?.focus(),
    enabled: !busy,
  })
  const shown = useKeysShown(hasKeys)
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
        {hasComment ? null : (
          <Button look="quiet" disabled={busy} onClick={() => field.current?.focus()}>
            Change…
            <ButtonKeys shown={shown} keys="E" />
          </Button>
        )}
        <Button look="quiet" disabled={busy} onClick={() => answer({ behavior: 'deny', interrupt: true })}>
          Drop it and stop
        </Button>
        <KeysSpacer shown={hasComment ? 'no' : shown} />
        {hasComment ? (
          <Button look="primary" disabled={busy} onClick={sendBack}>
            Send back with comments
            <ButtonKeys shown="yes" keys="Ctrl Enter" />
          </Button>
        ) : (
          <>
            <Button
              className="decision__wide"
              disabled={busy}
              title={PERMISSION_WORDS.acceptEdits.consequence}
              onClick={acceptEdits}
            >
              Go ahead and accept edits
              <ButtonKeys shown={shown} keys="⇧ A" />
            </Button>
            <Button
              look="primary"
              disabled={busy}
              title={PERMISSION_WORDS.default.consequence}
              onClick={accept}
            >
              Go ahead
              <ButtonKeys shown={shown} keys="A" />
            </Button>
          </>
        )}
      </div>
    </DecisionFrame>
  )
}
