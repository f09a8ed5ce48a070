import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { leave } from '../../ui/keys/leave.ts'
import { parseInput } from '../../words/decision.logic.ts'
import type { DecisionProps } from './DecisionFrame.tsx'
import { useDecisionDraft } from './decision-drafts.ts'

/** Allow something else than was asked for: a command as it is, any other input as JSON. */
export function EditForm({ request, busy, answer, onBack }: DecisionProps & { onBack(): void }) {
  const { command } = request.input
  const isCommand = typeof command === 'string'
  const asked = isCommand ? command : JSON.stringify(request.input, null, 2)
  const [text, setText] = useDecisionDraft(request.requestId, 'input', asked)
  const parsed = isCommand ? { input: { ...request.input, command: text } } : parseInput(text)
  const problem = 'problem' in parsed ? parsed.problem : undefined
  return (
    <form
      className="decision__form"
      onSubmit={event => {
        event.preventDefault()
        if ('input' in parsed) answer({ behavior: 'allow', updatedInput: parsed.input })
      }}
      onKeyDown={event => {
        if (event.key === 'Escape') leave(event, onBack)
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) event.currentTarget.requestSubmit()
      }}
    >
      <Field label={isCommand ? 'Command' : 'Input, as JSON'} hint={problem}>
        {id => (
          <textarea
            id={id}
            className="input input--code"
            rows={Math.min(12, Math.max(2, text.split('\n').length))}
            value={text}
            onChange={event => setText(event.target.value)}
            spellCheck={false}
            aria-invalid={problem !== undefined}
            // biome-ignore lint/a11y/noAutofocus: the person has just asked for this field
            autoFocus
          />
        )}
      </Field>
      <div className="decision__row">
        <Button type="submit" look="primary" disabled={busy || problem !== undefined}>
          Allow this
        </Button>
        <Button look="quiet" onClick={onBack}>
          Back
        </Button>
      </div>
    </form>
  )
}
