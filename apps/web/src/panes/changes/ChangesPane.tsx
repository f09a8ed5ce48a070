import type { QueryableClient } from '@chirality/client/queries'
import { useQuery } from '@tanstack/react-query'
import { memo, Suspense, useEffect, useMemo, useRef, useState } from 'react'
import { DiffCount, FilePath } from '../../diff/DiffView.tsx'
import type { ReviewLook } from '../../diff/review-rows.ts'
import { editedPaths } from '../../diff/tool-edits.ts'
import { BoundedMap } from '../../state/kept/bounded-map.ts'
import type { SessionStatus, TreeDiff } from '../../state/server/answers.ts'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
import { filePlace } from '../../state/server/work-place.ts'
import { usePulse } from '../../state/session/pulse.ts'
import { useSession, useSessionStore, useWorkDone } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Picker } from '../../ui/controls/Picker.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { late } from '../../ui/overlay/late.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { plural } from '../../ui/text/format.ts'
import {
  BRANCH,
  type ChangedFile,
  changedFiles,
  type Place,
  placeNow,
  splitChanges,
  stepChange,
  stepFile,
  WORKING_TREE,
} from './changes.logic.ts'
import type { FileSource } from './FileBody.tsx'
import { FileChange } from './FileChange.tsx'
import { LineOrigins } from './LineOrigins.tsx'
import { usePaneKeys } from './use-pane-keys.ts'
import { useReview } from './use-review.ts'
import { useSteps } from './use-steps.ts'
import './changes.css'

const ReviewBar = late(() => import('./ReviewBar.tsx'))

export interface ChangesPaneProps {
  status: SessionStatus
  /** `WORKING_TREE`, `BRANCH`, or the id of a turn. */
  scope: string
  onScope(scope: string): void
  /** How many files there are that this session edited, or that the turn changed, whenever that changes. */
  onCount(count: number): void
}

/** The call that reads the changes of a scope, under the key of that call. */
function diffQuery(client: QueryableClient, status: SessionStatus, scope: string) {
  const { sessionId } = status
  const { files, review } = client
  const ofTurn = { sessionId, turnId: scope }
  const place = filePlace(status)
  if (scope === BRANCH)
    return {
      queryKey: review.branchDiff.queryKey({ sessionId }),
      queryFn: () => review.branchDiff.query({ sessionId }),
    }
  return scope === WORKING_TREE
    ? { queryKey: files.diff.queryKey(place), queryFn: () => files.diff.query(place) }
    : { queryKey: files.turnDiff.queryKey(ofTurn), queryFn: () => files.turnDiff.query(ofTurn) }
}

/** Changes of the agent since the last commit, on its branch or in one turn, with discard, commit, merge and push. */
export default function ChangesPane({ status, scope, onScope, onCount }: ChangesPaneProps) {
  const client = useClient()
  const { sessionId } = status
  const askAgain = useAskAgain()
  const [foot, setFoot] = useState<HTMLElement | null>(null)
  const store = useSessionStore()
  const whole = useSession(snapshot => snapshot.whole)
  const { data, error, isPending, isPlaceholderData, refetch } = useQuery<TreeDiff | null>({
    ...diffQuery(client, status, scope),
    placeholderData: before => before,
    staleTime: 0,
    // Stepping through many turns would otherwise keep every diff in memory.
    gcTime: 0,
    retry: false,
  })
  // After the changes, which are what is looked at: both at once would ask git for the state of all files twice.
  const review = useReview(status, !isPending)
  const { branches } = review.state ?? {}
  const scopes = useScopes(branches?.base)
  const workDone = useWorkDone()
  const isOfTurn = scope !== WORKING_TREE && scope !== BRANCH
  // What could not be read while the machine was away is read when it is back.
  usePulse(`${review.isAway} ${workDone}`, () => {
    if (review.isAway || (isOfTurn && error === null)) return Promise.resolve()
    void askAgain(client.files.blame.queryFilter(filePlace(status)))
    return refetch()
  })
  const { own, others } = useMemo(() => {
    const files = data ? changedFiles(data) : []
    if (scope !== WORKING_TREE) return { own: files, others: [] }
    const tools = store.get().state.items.filter(item => item.kind === 'tool')
    // In a worktree all changes are the session's.
    if (status.worktree) return { own: files, others: [] }
    return splitChanges(files, new Set(tools.flatMap(editedPaths)), status.projectRoot)
  }, [data, scope, store, status.projectRoot, status.worktree, workDone, whole])
  const count = own.length + others.length
  const submodules = data?.submodules ?? []
  useEffect(() => onCount(own.length), [own.length])

  const isFromTools = data !== null && data !== undefined && 'source' in data && data.source === 'tools'
  const hasFiles = review.state !== undefined && !isFromTools
  const source = useMemo(
    (): FileSource => ({
      ...{ sessionId, hasFiles },
      ...(isOfTurn ? { turnId: scope } : {}),
      ...(scope === BRANCH ? { since: 'base' as const } : {}),
    }),
    [sessionId, hasFiles, scope, isOfTurn],
  )
  // The files of the scope before are shown while those of a new one load: they must not be taken back as if of this one.
  const canDiscard = hasFiles && !isPlaceholderData && review.waits === null && scope !== BRANCH
  const onDiscard = useLatest((file: ChangedFile, hunk: number | null) => {
    const chosen = hunk === null ? undefined : file.diff.hunks[hunk]
    const { path, renamedFrom } = file
    const hunks = chosen && [
      { oldStart: chosen.oldStart, newStart: chosen.newStart, lines: [...chosen.lines] },
    ]
    const files = [{ path, ...(renamedFrom ? { renamedFrom } : {}), ...(hunks ? { hunks } : {}) }]
    void review.run(() =>
      client.review.discard.mutate({ sessionId, ...(isOfTurn ? { turnId: scope } : {}), files }),
    )
  })
  const { at, reached, onPlace, onFile } = usePlace(own, canDiscard ? onDiscard : undefined)
  const { look, controls } = useLook()

  // Where somebody goes by a key is drawn at once.
  const drawn = Math.max(useSteps(count), own.findIndex(({ path }) => path === at?.path) + 1)
  const list = (files: readonly ChangedFile[], discard: typeof onDiscard | undefined) => {
    let before = 0
    return files.map(file => {
      const isEager = before < EAGER_LINES
      before += file.diff.added + file.diff.removed + 4 * file.diff.hunks.length + 1
      return (
        <FileChange
          key={file.path}
          {...{ file, source, look, isEager, reached, onPlace }}
          at={at?.path === file.path ? at : null}
          onDiscard={discard}
        />
      )
    })
  }
  return (
    <div className="changes">
      <div className="changes__scope">
        <Picker label="Changes of" value={scope} options={scopes} onChange={onScope} look="boxed" />
        {own.length > 0 ? <Sum files={own} /> : null}
        {own.length > 0 ? controls : null}
      </div>
      {own.length > 1 ? <FileList files={own.slice(0, drawn)} onFile={onFile} /> : null}
      <LineOrigins {...{ status, source, foot }}>
        {list(own.slice(0, drawn), canDiscard ? onDiscard : undefined)}
        {others.length > 0 && drawn >= own.length ? (
          <>
            <p className="changes__other">
              {`${own.length > 0 ? 'Also changed' : 'Changed'} in this folder since the last commit, but not by an edit of ${whole ? 'this session: a command, another session or you.' : 'the part of this session that is loaded.'}`}
              {whole ? null : (
                <Button look="quiet" size="small" onClick={() => store.want('whole')}>
                  Load all of it
                </Button>
              )}
            </p>
            {list(others.slice(0, Math.max(1, drawn - own.length)), undefined)}
          </>
        ) : null}
      </LineOrigins>
      {submodules.map(moved => (
        <p key={moved.path} className="changes__other">
          {submoduleText(moved, scope)}
        </p>
      ))}
      {isPending || count + submodules.length > 0 ? null : (
        <Empty
          title={
            data === null && !error ? 'No git here' : error ? 'Changes cannot be read' : 'Nothing changed'
          }
        >
          {error
            ? review.isAway
              ? review.waits
              : messageOf(error)
            : data === null
              ? 'Run git init in the project to see what agents change.'
              : 'Edits of the agent show up here.'}
          {scope === WORKING_TREE && branches && branches.ahead > 0 ? (
            <Button onClick={() => onScope(BRANCH)}>
              {`Show ${plural(branches.ahead, 'commit')} of this branch`}
            </Button>
          ) : null}
        </Empty>
      )}
      {review.isAway && !review.state && count > 0 ? <p className="changes__other">{review.waits}</p> : null}
      {review.unread ? (
        <p className="changes__unread" role="alert">
          {`What can be done with these changes cannot be read: ${review.unread}`}
        </p>
      ) : null}
      <div className="changes__foot">
        <div ref={setFoot} />
        {review.state ? (
          <Suspense fallback={null}>
            <ReviewBar {...{ sessionId, review }} state={review.state} />
          </Suspense>
        ) : null}
      </div>
    </div>
  )
}

function submoduleText(
  { path, from, to }: NonNullable<TreeDiff['submodules']>[number],
  scope: string,
): string {
  const [before, after] = [from?.slice(0, 9), to?.slice(0, 9)]
  const isNow = scope === WORKING_TREE
  const what =
    to === null
      ? isNow
        ? 'is gone'
        : 'was removed'
      : from === null
        ? `${isNow ? 'is new' : 'was added'}, at ${after}`
        : `${isNow ? 'is at' : 'was set to'} another commit: ${before} → ${after}`
  return `The submodule ${path} ${what}. It is not reviewed, discarded or committed here: use git.`
}

/** So many lines are drawn at once; those below come when they are near. */
const EAGER_LINES = 400

function useScopes(base: string | undefined) {
  const turns = useSession(({ state }) => state.turns)
  const store = useSessionStore()
  const whole = useSession(snapshot => snapshot.whole)
  // With the turns, not with each item: a long session has many of those.
  const messages = useMemo(() => {
    const users = store.get().state.items.filter(item => item.kind === 'user')
    return new Map(users.map(({ turnId, text }) => [turnId, text]))
  }, [store, turns])
  return useMemo(() => {
    const ended = turns.filter(({ id, endedAt }) => id !== null && endedAt !== null)
    const words = (turn: string | null) => firstWords(messages.get(turn) ?? '')
    const each = ended.map(({ id }, index) => ({
      value: id ?? '',
      // Of a log of which only the end is loaded nobody knows the number.
      label: whole ? `Turn ${index + 1} · ${words(id)}` : words(id),
    }))
    const branch = base === undefined ? [] : [{ value: BRANCH, label: `All that ${base} does not have` }]
    return [{ value: WORKING_TREE, label: 'Since the last commit' }, ...branch, ...each.reverse()]
  }, [turns, messages, whole, base])
}

/** Where the person is in the review, and the keys that go on from there. */
function usePlace(
  files: readonly ChangedFile[],
  onDiscard: ((file: ChangedFile, hunk: number | null) => void) | undefined,
) {
  const [at, setAt] = useState<(Place & { times: number; remarks: number }) | null>(null)
  const steps = useRef(0)
  const reached = useRef(0)
  const go = (place: Place | null, remarks = 0) => {
    if (!place) return
    steps.current += 1
    setAt({ ...place, times: steps.current, remarks })
  }
  const onPlace = useLatest((place: Place) => {
    // Reached by the pointer or by Tab: it has the focus already.
    if (at?.path !== place.path || at.hunk !== place.hunk)
      setAt(before => ({ ...place, times: before?.path === place.path ? before.times : 0, remarks: 0 }))
  })
  const file = files.find(({ path }) => path === at?.path)
  const discard = (hunk: number | null) => {
    if (!file || !onDiscard) return undefined
    return () => onDiscard(file, hunk)
  }
  // A hunk that is gone, discarded in another tab, must not be taken for the file.
  const isThere = at !== null && (at.hunk < 0 || file?.diff.hunks[at.hunk] !== undefined)
  usePaneKeys({
    '.': () => go(stepChange(files, at, 1)),
    ',': () => go(stepChange(files, at, -1)),
    '>': () => go(stepFile(files, at, 1)),
    '<': () => go(stepFile(files, at, -1)),
    x: isThere ? discard(at.hunk < 0 ? null : at.hunk) : undefined,
    X: discard(null),
    l:
      file && file.diff.hunks.length > 0
        ? () => go(placeNow(files, at as Place), (at?.remarks ?? 0) + 1)
        : undefined,
  })
  // What had the focus may be gone with what was taken back.
  useEffect(() => {
    if (at === null || document.activeElement !== document.body) return
    go(placeNow(files, at) ?? stepFile(files, null, 1))
  }, [files])
  const onFile = useLatest((path: string) => go({ path, hunk: -1 }))
  return { at, reached, onPlace, onFile }
}

const kept = new BoundedMap<boolean>('chirality-review-look', 4)

/** How changes are shown, as it was chosen last. */
function useLook() {
  const [look, setLook] = useState<ReviewLook>(() => ({
    split: kept.get('split') ?? false,
    ignoresBlanks: kept.get('ignoresBlanks') ?? false,
  }))
  const toggle = (part: keyof ReviewLook) => {
    kept.set(part, !look[part])
    setLook({ ...look, [part]: !look[part] })
  }
  usePaneKeys({ v: () => toggle('split'), b: () => toggle('ignoresBlanks') })
  const button = (part: keyof ReviewLook, label: string, title: string) => (
    <Button look="quiet" size="small" aria-pressed={look[part]} title={title} onClick={() => toggle(part)}>
      {label}
    </Button>
  )
  const controls = (
    <span className="changes__look">
      {button('split', 'Side by side', 'What was beside what is (V)')}
      {button('ignoresBlanks', 'Ignore white space', 'Do not show changes of white space alone (B)')}
    </span>
  )
  return { look, controls }
}

/** The same function each time, which does what the last one does. */
function useLatest<A extends unknown[]>(action: (...args: A) => void): (...args: A) => void {
  const latest = useRef(action)
  useEffect(() => {
    latest.current = action
  })
  const [stable] = useState(
    () =>
      (...args: A) =>
        latest.current(...args),
  )
  return stable
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

/** List of the changed files; a click scrolls to the file. */
function FileList({ files, onFile }: { files: readonly ChangedFile[]; onFile(path: string): void }) {
  return (
    <ul className="changes__files" aria-label="Changed files">
      {files.map(file => (
        <ListedFile key={file.path} {...{ file, onFile }} />
      ))}
    </ul>
  )
}

interface ListedFileProps {
  file: ChangedFile
  onFile(path: string): void
}

/** Not drawn again for each step in which more of them come. */
const ListedFile = memo(function ListedFile({ file: { path, diff }, onFile }: ListedFileProps) {
  return (
    <li>
      <button type="button" className="changes__file" onClick={() => onFile(path)}>
        <span className={`changes__letter changes__letter--${diff.kind}`} aria-hidden="true">
          {LETTERS[diff.kind]}
        </span>
        <FilePath path={path} />
        <span className="hidden-visually">{LETTER_WORDS[diff.kind]}</span>
        <DiffCount added={diff.added} removed={diff.removed} />
      </button>
    </li>
  )
})

const MAX_WORDS_CHARS = 60

function firstWords(message: string): string {
  const line = message.replace(/\s+/g, ' ').trim()
  return line.length > MAX_WORDS_CHARS ? `${line.slice(0, MAX_WORDS_CHARS)}…` : line
}
