import type { CallOutputs } from '@chirality/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { filePlace } from '../../state/server/work-place.ts'
import { Icon } from '../../ui/marks/Icon.tsx'
import { messageOf } from '../../ui/text/error-message.ts'

interface FolderProps {
  status: SessionStatus
  path: string
  depth: number
  onFile(path: string): void
}

/** Deeper than this the indentation would leave no room for names. */
const MAX_INDENT = 8

export function Folder({ status, path, depth, onFile }: FolderProps) {
  const client = useClient()
  const { data, error } = useQuery(
    client.files.tree.queryOptions({ ...filePlace(status), path }, { staleTime: 0, retry: false }),
  )
  if (error) return <p className="files__note">{messageOf(error)}</p>
  return (data?.entries ?? []).map(entry => (
    <Entry
      key={entry.name}
      entry={entry}
      status={status}
      path={path === '' ? entry.name : `${path}/${entry.name}`}
      depth={depth}
      onFile={onFile}
    />
  ))
}

function Entry({
  entry,
  ...place
}: FolderProps & { entry: CallOutputs['files']['tree']['entries'][number] }) {
  const [open, setOpen] = useState(false)
  const isFolder = entry.kind === 'folder'
  return (
    <>
      <button
        type="button"
        role="treeitem"
        aria-level={place.depth + 1}
        aria-expanded={isFolder ? open : undefined}
        className={`files__entry files__entry--${Math.min(place.depth, MAX_INDENT)}`}
        onClick={() => (isFolder ? setOpen(!open) : place.onFile(place.path))}
      >
        <Icon name={isFolder ? 'folder' : 'file'} size={14} />
        <span className="truncate">{entry.name}</span>
      </button>
      {isFolder && open ? <Folder {...place} depth={place.depth + 1} /> : null}
    </>
  )
}
