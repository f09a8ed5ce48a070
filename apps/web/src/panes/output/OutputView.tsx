import { factsOf, formatDuration, outputCut, type ToolItem } from '@chirality/core'
import { useDeferredValue, useMemo, useRef, useState } from 'react'
import { MAX_LIVE_OUTPUT_CHARS } from '../../state/session/session-extras.ts'
import { useSession } from '../../state/session/use-session.ts'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { leave } from '../../ui/keys/leave.ts'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { own } from '../../ui/own.ts'
import { plural } from '../../ui/text/format.ts'
import { VirtualList, type VirtualListHandle } from '../../ui/virtual/VirtualList.tsx'
import { patternOf } from '../find/find.logic.ts'
import { type LineMatch, linePieces, matchesIn, type OutputLine, outputLines } from './output-lines.ts'
import '../../ansi/ansi.css'
import './output.css'

const LINE_PX = 20

/** All that one command printed, as a terminal shows it: colours, numbered lines, and a search. It grows while the command runs. */
export default function OutputView({ toolId, onClose }: { toolId: string; onClose(): void }) {
  const items = useSession(({ state }) => state.items)
  const printed = useSession(({ extras }) => own(extras.output, toolId))
  const tool = useMemo(
    () => items.findLast(item => item.kind === 'tool' && item.id === toolId),
    [items, toolId],
  )
  if (tool?.kind !== 'tool') return null
  return <Terminal tool={tool} output={tool.content ?? printed ?? ''} onClose={onClose} />
}

function Terminal({ tool, output, onClose }: { tool: ToolItem; output: string; onClose(): void }) {
  const list = useRef<VirtualListHandle>(null)
  const field = useRef<HTMLInputElement>(null)
  const lines = useMemo(() => outputLines(output), [output])
  const [text, setText] = useState('')
  const wanted = useDeferredValue(text)
  const matches = useMemo(() => (wanted === '' ? [] : matchesIn(lines, patternOf(wanted))), [lines, wanted])
  const [at, setAt] = useState<LineMatch | null>(null)
  const index = at === null ? -1 : matches.findIndex(one => one.line === at.line && one.from === at.from)
  const step = (by: 1 | -1) => {
    // Enter can come before the deferred search of the last letters.
    const found = wanted === text || text === '' ? matches : matchesIn(lines, patternOf(text))
    const next = found.at((index < 0 && by > 0 ? 0 : index + by) % Math.max(1, found.length))
    if (!next) return
    setAt(next)
    list.current?.toIndex(Math.max(0, next.line - CONTEXT_LINES))
  }
  const { command, object, label } = factsOf(tool)
  return (
    <Dialog title="Output" place="wide" onClose={onClose}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the key leads to the field, which is reached by Tab, too */}
      <div
        className="output"
        onKeyDown={event => {
          const isFind = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'f'
          if (!isFind && (event.key !== '/' || event.target === field.current)) return
          event.preventDefault()
          field.current?.select()
          field.current?.focus()
        }}
      >
        <p className="output__head">
          <code className="output__command" title={command ?? object}>
            {command ?? `${label} ${object}`}
          </code>
          <span className="number output__facts">
            {[plural(lines.length, 'line'), timeOf(tool)].filter(Boolean).join(' · ')}
          </span>
          <CopyButton text={output} label="Copy all of the output" />
        </p>
        <search className="output__find" aria-label="Find in the output">
          <input
            ref={field}
            className="find__field"
            type="text"
            aria-label="Find in the output"
            placeholder="Find in the output"
            autoComplete="off"
            spellCheck={false}
            data-first
            value={text}
            onChange={event => {
              setText(event.target.value)
              setAt(null)
            }}
            onKeyDown={event => {
              if (event.key === 'Escape' && text !== '') leave(event, () => setText(''))
              if (event.key !== 'Enter' || event.nativeEvent.isComposing) return
              event.preventDefault()
              step(event.shiftKey ? -1 : 1)
            }}
          />
          <span className="number find__count" role="status">
            {wanted === '' ? '' : countWords(index, matches.length)}
          </span>
          <IconButton
            icon="up"
            label="Previous match"
            disabled={matches.length === 0}
            onClick={() => step(-1)}
          />
          <IconButton
            icon="down"
            label="Next match"
            disabled={matches.length === 0}
            onClick={() => step(1)}
          />
        </search>
        <Notes tool={tool} output={output} />
        {output === '' ? (
          <p className="output__note">
            {tool.status === 'running' ? 'Nothing printed yet.' : 'It printed nothing.'}
          </p>
        ) : (
          <VirtualList
            ref={list}
            label="Output"
            className="output__lines"
            rowClassName="output__row"
            count={lines.length}
            estimate={() => LINE_PX}
            keyOf={line => line}
            row={line => <Line line={lines[line]} number={line} matches={matches} at={at} />}
          />
        )}
      </div>
    </Dialog>
  )
}

/** A match is shown with what was printed just before it. */
const CONTEXT_LINES = 4

function countWords(index: number, count: number): string {
  if (count === 0) return 'No match'
  return index < 0 ? plural(count, 'match', 'matches') : `${index + 1} of ${count}`
}

function timeOf({ status, durationMs, wait }: ToolItem): string {
  if (status === 'running') return 'running'
  const waited = wait?.waitedMs ?? 0
  const own = durationMs === null ? '' : `ran ${formatDuration(durationMs)}`
  return [own, waited >= 1000 ? `waited ${formatDuration(waited)} for the answer` : '']
    .filter(Boolean)
    .join(' · ')
}

/** What is missing of the output, and why. */
function Notes({ tool, output }: { tool: ToolItem; output: string }) {
  const cut = tool.content === null ? undefined : outputCut(output)
  if (cut !== undefined)
    return (
      <p className="output__note output__note--cut" role="note">
        {`The agent kept only a part of this output, and the rest is not in the log. It says: “${cut}”`}
      </p>
    )
  if (tool.content === null && output.length >= MAX_LIVE_OUTPUT_CHARS)
    return (
      <p className="output__note output__note--cut">
        The end of what it printed so far; all of it comes with the result.
      </p>
    )
  return null
}

interface LineProps {
  line: OutputLine | undefined
  number: number
  matches: readonly LineMatch[]
  at: LineMatch | null
}

function Line({ line, number, matches, at }: LineProps) {
  if (!line) return null
  const here = matches.length === 0 ? matches : matches.filter(match => match.line === number)
  return (
    <>
      <span className="output__number">{number + 1}</span>
      <span className="output__text">
        {linePieces(line, here).map(({ text, classes, match }, index) => {
          if (match === null)
            return (
              <span key={index} className={classes || undefined}>
                {text}
              </span>
            )
          const isCurrent = at !== null && match.line === at.line && match.from === at.from
          return (
            <mark key={index} className={isCurrent ? 'output__mark output__mark--here' : 'output__mark'}>
              {text}
            </mark>
          )
        })}
      </span>
    </>
  )
}
