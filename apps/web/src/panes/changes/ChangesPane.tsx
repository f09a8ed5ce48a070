import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { editedPaths } from '../../diff/tool-edits.ts'
import type { SessionStatus, TreeDiff } from '../../state/server/server-api.ts'
import { useApi } from '../../state/server/use-api.ts'
import { usePulse } from '../../state/session/pulse.ts'
import { useSession, useSessionStore, useWorkDone } from '../../state/session/use-session.ts'
import { Empty } from '../../ui/marks/Empty.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { type ChangedFile, changedFiles, splitChanges } from './changes.logic.ts'
import { FileChange } from './FileChange.tsx'
import './changes.css'

export const WORKING_TREE = 'tree'
/** A choice of a thousand turns costs as much to draw as the conversation: the older ones come when it is reached for. */
const NEWEST_TURNS = 100

export interface ChangesPaneProps {
  status: SessionStatus
  /** `WORKING_TREE`, or the id of a turn. */
  scope: string
  onScope(scope: string): void
  /** How many files there are that this session edited, or that the turn changed, whenever that changes. */
  onCount(count: number): void
}

/** What the agent changed: since the last commit, or in one turn. Lines can be commented on. */
export function ChangesPane({ status, scope, onScope, onCount }: ChangesPaneProps) {
  const api = useApi()
  const turns = useSession(({ state }) => state.turns)
  const store = useSessionStore()
  // With the turns, not with each item: a long session has many of those.
  const messages = useMemo(() => {
    const users = store.get().state.items.filter(item => item.kind === 'user')
    return new Map(users.map(({ turnId, text }) => [turnId, text]))
  }, [store, turns])
  const [all, setAll] = useState(false)
  const ended = turns.filter(({ id, endedAt }) => id !== null && endedAt !== null)
  const newest = Math.max(0, ended.length - NEWEST_TURNS)
  const first = all || ended.slice(0, newest).some(({ id }) => id === scope) ? 0 : newest
  const { data, error, isPending, refetch } = useQuery<TreeDiff | null>({
    queryKey: ['diff', status.sessionId, scope],
    queryFn: () =>
      scope === WORKING_TREE
        ? api.workingTreeDiff(status.projectRoot)
        : api.turnDiff(status.sessionId, scope),
    placeholderData: before => before,
    staleTime: 0,
    // Who looks through many turns must not keep all of their changes.
    gcTime: 0,
    retry: false,
  })
  const workDone = useWorkDone()
  usePulse(workDone, () => (scope === WORKING_TREE ? refetch() : Promise.resolve()))
  const { own, others } = useMemo(() => {
    const files = data ? changedFiles(data) : []
    if (scope !== WORKING_TREE) return { own: files, others: [] }
    const tools = store.get().state.items.filter(item => item.kind === 'tool')
    return splitChanges(files, new Set(tools.flatMap(editedPaths)), status.projectRoot)
  }, [data, scope, store, status.projectRoot, workDone])
  const count = own.length + others.length
  useEffect(() => onCount(own.length), [own.length])
  const list = (files: readonly ChangedFile[]) =>
    files.map(file => <FileChange key={file.path} sessionId={status.sessionId} file={file} />)
  return (
    <div className="changes">
      <label className="changes__scope">
        <span className="hidden-visually">Changes of</span>
        <select
          value={scope}
          onPointerEnter={() => setAll(true)}
          onFocus={() => setAll(true)}
          onChange={event => onScope(event.target.value)}
        >
          <option value={WORKING_TREE}>Since the last commit</option>
          {ended
            .slice(first)
            .map((turn, index) => (
              <option key={turn.id} value={turn.id ?? ''}>
                {`Turn ${first + index + 1} · ${firstWords(messages.get(turn.id) ?? '')}`}
              </option>
            ))
            .reverse()}
        </select>
      </label>
      {list(own)}
      {others.length > 0 ? (
        <>
          <p className="changes__other">
            {`${own.length > 0 ? 'Also changed' : 'Changed'} in this folder since the last commit, but not by an edit of this session: a command, another session or you.`}
          </p>
          {list(others)}
        </>
      ) : null}
      {isPending || count > 0 ? null : (
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

const MAX_WORDS_CHARS = 60

function firstWords(message: string): string {
  const line = message.replace(/\s+/g, ' ').trim()
  return line.length > MAX_WORDS_CHARS ? `${line.slice(0, MAX_WORDS_CHARS)}…` : line
}
