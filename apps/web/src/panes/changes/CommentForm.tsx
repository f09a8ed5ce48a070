import { useState } from 'react'
import { Button } from '../../ui/Button.tsx'

export function CommentForm({ onSave, onCancel }: { onSave(text: string): void; onCancel(): void }) {
  const [text, setText] = useState('')
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
        onChange={event => setText(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Escape') onCancel()
          if (event.key !== 'Enter' || event.shiftKey) return
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
