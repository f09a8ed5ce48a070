import { Button } from '../../ui/controls/Button.tsx'
import { leave } from '../../ui/keys/leave.ts'

interface CommentFormProps {
  text: string
  onText(text: string): void
  onSave(text: string): void
  onCancel(): void
}

export function CommentForm({ text, onText, onSave, onCancel }: CommentFormProps) {
  const save = () => text.trim() !== '' && onSave(text.trim())
  return (
    <form
      className="comment-form"
      onSubmit={event => {
        event.preventDefault()
        save()
      }}
    >
      <textarea
        className="input"
        rows={2}
        aria-label="Comment"
        placeholder="Say what should be different"
        value={text}
        onChange={event => onText(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Escape') leave(event, onCancel)
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
          event.preventDefault()
          save()
        }}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for this field
        autoFocus
      />
      <div className="comment-form__row">
        <Button type="submit" size="small" disabled={text.trim() === ''}>
          Add comment
        </Button>
        <Button size="small" look="quiet" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  )
}
