import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { DiffCount, FilePath } from '../../diff/DiffView.tsx'
import { editedPaths } from '../../diff/tool-edits.ts'
import { filePlace, type SessionStatus, type TreeDiff } from '../../state/server/server-api.ts'
import { useApi } from '../../state/server/use-api.ts'
import { usePulse } from '../../state/session/pulse.ts'
import { useSession, useSessionStore, useWorkDone } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Picker } from '../../ui/controls/Picker.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { plural } from '../../ui/text/format.ts'
import { type ChangedFile, changedFiles, splitChanges } from './changes.logic.ts'
import { FileChange } from './FileChange.tsx'
import './changes.css'

export const WORKING_TREE = 'tree'
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
  const whole = useSession(snapshot => snapshot.whole)
  // With the turns, not with each item: a long session has many of those.
  const messages = useMemo(() => {
    const users = store.get().state.items.filter(item => item.kind === 'user')
    return new Map(users.map(({ turnId, text }) => [turnId, text]))
  }, [store, turns])
  const scopes = useMemo(() => {
    const ended = turns.filter(({ id, endedAt }) => id !== null && endedAt !== null)
    const words = (turn: string | null) => firstWords(messages.get(turn) ?? '')
    const each = ended.map(({ id }, index) => ({
      value: id ?? '',
      // Of a log of which only the end is loaded nobody knows the number.
      label: whole ? `Turn ${index + 1} · ${words(id)}` : words(id),
    }))
    return [{ value: WORKING_TREE, label: 'Since the last commit' }, ...each.reverse()]
  }, [turns, messages, whole])
  const { data, error, isPending, refetch } = useQuery<TreeDiff | null>({
    queryKey: ['diff', status.sessionId, scope],
    queryFn: () =>
      scope === WORKING_TREE ? api.workingTreeDiff(filePlace(status)) : api.turnDiff(status.sessionId, scope),
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
    // In a worktree all changes are the session's.
    if (status.worktree) return { own: files, others: [] }
    return splitChanges(files, new Set(tools.flatMap(editedPaths)), status.projectRoot)
  }, [data, scope, store, status.projectRoot, status.worktree, workDone, whole])
  const count = own.length + others.length
  useEffect(() => onCount(own.length), [own.length])
  const [asked, setAsked] = useState({ path: '', times: 0 })
  const list = (files: readonly ChangedFile[]) =>
    files.map(file => (
      <FileChange
        key={file.path}
        sessionId={status.sessionId}
        file={file}
        {...(asked.path === file.path ? { asked: asked.times } : {})}
      />
    ))
  return (
    <div className="changes">
      <div className="changes__scope">
        <Picker label="Changes of" value={scope} options={scopes} onChange={onScope} look="boxed" />
        {own.length > 0 ? <Sum files={own} /> : null}
      </div>
      {own.length > 1 ? (
        <FileList files={own} onFile={path => setAsked(({ times }) => ({ path, times: times + 1 }))} />
      ) : null}
      {list(own)}
      {others.length > 0 ? (
        <>
          <p className="changes__other">
            {`${own.length > 0 ? 'Also changed' : 'Changed'} in this folder since the last commit, but not by an edit of ${whole ? 'this session: a command, another session or you.' : 'the part of this session that is loaded.'}`}
            {whole ? null : (
              <Button look="quiet" size="small" onClick={() => store.want('whole')}>
                Load all of it
              </Button>
            )}
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

function Sum({ files }: { files: readonly ChangedFile[] }) {
  const sum = (side: 'added' | 'removed') => files.reduce((total, { diff }) => total + diff[side], 0)
  return (
    <span className="changes__sum number">
      <DiffCount added={sum('added')} removed={sum('removed')} />
      {plural(files.length, 'file')}
    </span>
  )
}

const LETTERS = { add: 'A', update: 'M', delete: 'D' } as const
const LETTER_WORDS = { add: 'new', update: 'changed', delete: 'deleted' } as const

/** What there is, before any of it is read; a click leads to it. */
function FileList({ files, onFile }: { files: readonly ChangedFile[]; onFile(path: string): void }) {
  return (
    <ul className="changes__files" aria-label="Changed files">
      {files.map(({ path, diff }) => (
        <li key={path}>
          <button type="button" className="changes__file" onClick={() => onFile(path)}>
            <span className={`changes__letter changes__letter--${diff.kind}`} aria-hidden="true">
              {LETTERS[diff.kind]}
            </span>
            <FilePath path={path} />
            <span className="hidden-visually">{LETTER_WORDS[diff.kind]}</span>
            <DiffCount added={diff.added} removed={diff.removed} />
          </button>
        </li>
      ))}
    </ul>
  )
}

const MAX_WORDS_CHARS = 60

function firstWords(message: string): string {
  const line = message.replace(/\s+/g, ' ').trim()
  return line.length > MAX_WORDS_CHARS ? `${line.slice(0, MAX_WORDS_CHARS)}…` : line
}
