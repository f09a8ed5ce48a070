import { useSessionActions } from '../../state/session/use-session.ts'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'

/** Shown over the message that is pointed at; nothing moves for it. The keyboard finds the same at the end of the turn. */
export function MessageActions(props: { text: string; turnId: string | null; own?: boolean }) {
  const { text, turnId, own = false } = props
  const actions = useSessionActions()
  return (
    <div className="message-actions">
      <CopyButton text={text} />
      {own && actions.retry ? (
        <IconButton icon="retry" label="Retry this message" onClick={() => actions.retry?.(text, turnId)} />
      ) : null}
      {turnId !== null && actions.fork ? (
        <IconButton icon="fork" label="Fork from here" onClick={() => actions.fork?.(turnId)} />
      ) : null}
    </div>
  )
}
