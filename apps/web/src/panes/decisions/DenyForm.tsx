import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { leave } from '../../ui/keys/leave.ts'
import type { DecisionProps } from './DecisionFrame.tsx'
import { useDecisionDraft } from './decision-drafts.ts'

/** No, and what to do instead. */
export function DenyForm({ request, busy, answer, onBack }: DecisionProps & { onBack(): void }) {
  const [message, setMessage] = useDecisionDraft(request.requestId, 'denial', '')
  const deny = (interrupt: boolean) =>
    answer({
      behavior: 'deny',
      ...(message.trim() ? { message: message.trim() } : {}),
      ...(interrupt ? { interrupt: true } : {}),
    })
  return (
    <form
      className="decision__form"
      onSubmit={event => {
        event.preventDefault()
        deny(false)
      }}
      onKeyDown={event => {
        if (event.key === 'Escape') leave(event, onBack)
      }}
    >
      <Field label="What should it do instead?">
        {id => (
          <input
            id={id}
            className="input"
            value={message}
            onChange={event => setMessage(event.target.value)}
            placeholder="Optional"
            // biome-ignore lint/a11y/noAutofocus: the person has just asked for this field
            autoFocus
          />
        )}
      </Field>
      <div className="decision__row">
        <Button type="submit" look="primary" disabled={busy}>
          Deny
        </Button>
        <Button disabled={busy} onClick={() => deny(true)}>
          Deny and stop the turn
        </Button>
        <Button look="quiet" onClick={onBack}>
          Back
        </Button>
      </div>
    </form>
  )
}
