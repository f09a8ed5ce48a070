import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { parseUnifiedDiff } from '../../diff/file-diff.ts'
import type { SessionStatus, TreeDiff } from '../../state/server-api.ts'
import { useApi } from '../../state/use-api.ts'
import { useSession } from '../../state/use-session.ts'
import { Empty } from '../../ui/Empty.tsx'
import { messageOf } from '../../ui/error-message.ts'
import { FileChange } from './FileChange.tsx'
import './changes.css'

const WORKING_TREE = 'tree'
/** A choice of a thousand turns costs as much to draw as the conversation: the older ones come when it is reached for. */
const NEWEST_TURNS = 100

/** What the agent changed: since the last commit, or in one turn. Lines can be commented on. */
export function ChangesPane({ status }: { status: SessionStatus }) {
  const api = useApi()
  const turns = useSession(({ state }) => state.turns)
  const items = useSession(({ state }) => state.items.length)
  const [scope, setScope] = useState(WORKING_TREE)
  const [all, setAll] = useState(false)
  const ended = turns.filter(({ id, endedAt }) => id !== null && endedAt !== null)
  const newest = Math.max(0, ended.length - NEWEST_TURNS)
  const first = all || ended.slice(0, newest).some(({ id }) => id === scope) ? 0 : newest
  const { data, error, isPending } = useQuery<TreeDiff | null>({
    queryKey: ['diff', status.sessionId, scope, scope === WORKING_TREE ? items : 0],
    queryFn: () =>
      scope === WORKING_TREE
        ? api.workingTreeDiff(status.projectRoot)
        : api.turnDiff(status.sessionId, scope),
    placeholderData: before => before,
    // There is a new one after each step: kept for minutes, those of a large change would be hundreds of megabytes.
    gcTime: 0,
    retry: false,
  })
  const files = useMemo(() => (data ? parseUnifiedDiff(data.patch) : []), [data])
  const rest = (data?.files ?? []).filter(({ path }) => !files.some(file => file.path === path))
  return (
    <div className="changes">
      <label className="changes__scope">
        <span className="hidden-visually">Changes of</span>
        <select
          value={scope}
          onPointerEnter={() => setAll(true)}
          onFocus={() => setAll(true)}
          onChange={event => setScope(event.target.value)}
        >
          <option value={WORKING_TREE}>Since the last commit</option>
          {ended
            .slice(first)
            .map((turn, index) => (
              <option key={turn.id} value={turn.id ?? ''}>
                {`Turn ${first + index + 1}`}
              </option>
            ))
            .reverse()}
        </select>
      </label>
      {files.map(diff => (
        <FileChange key={diff.path} sessionId={status.sessionId} diff={diff} />
      ))}
      {rest.map(({ path }) => (
        <p key={path} className="changes__other">{`${path}: no text, or too much of it`}</p>
      ))}
      {isPending || files.length + rest.length > 0 ? null : (
        <Empty
          title={
            data === null && !error ? 'No git here' : error ? 'Changes cannot be read' : 'Nothing changed'
          }
        >
          {error
            ? messageOf(error)
            : data === null
              ? 'Run git init in the project to see what agents change.'
              : 'Edits of the agent show up here.'}
        </Empty>
      )}
    </div>
  )
}
