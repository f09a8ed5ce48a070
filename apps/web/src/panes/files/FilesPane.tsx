import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, lazy, Suspense, useState } from 'react'
import { HighlightedCode } from '../../markdown/CodeBlock.tsx'
import { languageOf } from '../../markdown/highlight.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
import { filePlace } from '../../state/server/work-place.ts'
import { usePulse } from '../../state/session/pulse.ts'
import { useWorkDone } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { Folder } from './Folder.tsx'
import './files.css'

const WhoWrote = lazy(() => import('./WhoWrote.tsx'))

/** The files that the agent works on. What a tool may have changed is read again as soon as its result is there. */
export default function FilesPane({ status }: { status: SessionStatus }) {
  const [path, setPath] = useState<string | null>(null)
  const askAgain = useAskAgain()
  const { files } = useClient()
  usePulse(useWorkDone(), () =>
    askAgain(
      ...[files.tree, files.read, files.blame].map(call => ({ queryKey: call.queryKey(filePlace(status)) })),
    ),
  )
  if (path !== null) return <FileView status={status} path={path} onBack={() => setPath(null)} />
  return (
    <>
      {status.worktree?.folder ? (
        <p className="files__place">
          <span className="truncate" title={status.worktree.folder}>
            {status.worktree.folder}
          </span>
          <CopyButton text={status.worktree.folder} label="Copy the path of the worktree" />
        </p>
      ) : null}
      <div className="files" role="tree" aria-label="Files" onKeyDown={event => moveInTree(event)}>
        <Folder status={status} path="" depth={0} onFile={setPath} />
      </div>
    </>
  )
}

function FileView({ status, path, onBack }: { status: SessionStatus; path: string; onBack(): void }) {
  const client = useClient()
  const { data, error } = useQuery(
    client.files.read.queryOptions({ ...filePlace(status), path }, { staleTime: 0, retry: false }),
  )
  const [line, setLine] = useState<number | null>(null)
  const text = data?.kind === 'text' ? data.text : null
  const lines = text === null ? 0 : countLines(text)
  const look = ({ currentTarget, clientY }: React.PointerEvent<HTMLElement>) => {
    const { top, height } = currentTarget.getBoundingClientRect()
    setLine(Math.min(lines, Math.max(1, Math.floor(((clientY - top) / height) * lines) + 1)))
  }
  return (
    <div className="file">
      <p className="file__head">
        <Button look="quiet" size="small" onClick={onBack}>
          Back
        </Button>
        <span className="file__path truncate" title={path}>
          {path}
        </span>
        {text ? <CopyButton text={text} label="Copy the file" /> : null}
      </p>
      {error ? <p className="file__note">{messageOf(error)}</p> : null}
      {data && data.kind !== 'text' ? (
        <p className="file__note">{`This is no text: ${data.kind}, ${data.sizeBytes} bytes.`}</p>
      ) : null}
      {data?.kind === 'text' && data.truncated ? (
        <p className="file__note">Only the beginning of this file is shown.</p>
      ) : null}
      {text === null ? null : (
        <>
          <ScrollRegion className="file__text" label={path}>
            <pre className="file__numbers" aria-hidden="true">
              {lineNumbers(text)}
            </pre>
            <pre onPointerMove={look} onPointerDown={look}>
              <HighlightedCode code={text} language={languageOf(path)} />
            </pre>
          </ScrollRegion>
          <div className="file__who">
            <label>
              <span className="hidden-visually">Who wrote line</span>
              <input
                className="input file__line"
                type="number"
                min={1}
                max={lines}
                placeholder="Line"
                value={line ?? ''}
                onChange={({ target }) => setLine(lineIn(target.value, lines))}
              />
            </label>
            {line === null ? (
              <span>Point at a line, or give its number, to see which turn wrote it.</span>
            ) : (
              <Suspense fallback={null}>
                <WhoWrote status={status} path={path} line={line} />
              </Suspense>
            )}
          </div>
        </>
      )}
    </div>
  )
}

function lineNumbers(text: string): string {
  return Array.from({ length: countLines(text) }, (_, i) => i + 1).join('\n')
}

function countLines(text: string): number {
  return text.replace(/\n$/, '').split('\n').length
}

function lineIn(typed: string, lines: number): number | null {
  const line = Number.parseInt(typed, 10)
  return Number.isNaN(line) ? null : Math.min(lines, Math.max(1, line))
}

/** The keys of a tree: up and down between entries, right into a folder, left out of it. */
function moveInTree(event: KeyboardEvent<HTMLElement>): void {
  const entries = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="treeitem"]')]
  const at = entries.indexOf(event.target as HTMLElement)
  const entry = entries[at]
  if (!entry || event.altKey || event.ctrlKey || event.metaKey) return
  const target = targetOf(event.key, entries, at)
  if (target === undefined) return
  event.preventDefault()
  // The page has keys of its own for some of these.
  event.stopPropagation()
  if (target === 'toggle') entry.click()
  else target?.focus()
}

function targetOf(key: string, entries: readonly HTMLElement[], at: number) {
  const expanded = entries[at]?.ariaExpanded ?? null
  switch (key) {
    case 'ArrowDown':
      return entries[at + 1] ?? null
    case 'ArrowUp':
      return entries[at - 1] ?? null
    case 'Home':
      return entries[0] ?? null
    case 'End':
      return entries.at(-1) ?? null
    case 'ArrowRight':
      if (expanded === null) return null
      return expanded === 'true' ? firstChildOf(entries, at) : 'toggle'
    case 'ArrowLeft':
      return expanded === 'true' ? 'toggle' : parentOf(entries, at)
    default:
      return undefined
  }
}

/** None while what is in the folder is still read: the next entry is then a neighbour. */
function firstChildOf(entries: readonly HTMLElement[], at: number): HTMLElement | null {
  const next = entries[at + 1]
  return next && Number(next.ariaLevel) > Number(entries[at]?.ariaLevel) ? next : null
}

function parentOf(entries: readonly HTMLElement[], at: number): HTMLElement | null {
  const level = Number(entries[at]?.ariaLevel)
  return entries.slice(0, at).findLast(entry => Number(entry.ariaLevel) < level) ?? null
}
