import { IconButton } from '../../ui/controls/IconButton.tsx'
import type { Attachment } from './attachments.ts'

export function AttachmentList(props: { list: readonly Attachment[]; onRemove(id: string): void }) {
  if (props.list.length === 0) return null
  return (
    <ul className="attachments" aria-label="Attached">
      {props.list.map(({ id, name, preview }) => (
        <li key={id}>
          {preview ? <img src={preview} alt="" /> : null}
          <span className="truncate">{name}</span>
          <IconButton icon="close" label={`Remove ${name}`} onClick={() => props.onRemove(id)} />
        </li>
      ))}
    </ul>
  )
}
