import { type CallState, formatDuration, type ToolItem } from '@chirality/core'
import { useMemo, useState } from 'react'
import { Ansi } from '../../ansi/Ansi.tsx'
import { useProjectRoot, useSession, useWholeSession } from '../../state/session/use-session.ts'
import { Dot, type DotTone } from '../../ui/marks/Dot.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { own } from '../../ui/own.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { VirtualList } from '../../ui/virtual/VirtualList.tsx'
import { isCutShort } from '../chat/ToolBody.tsx'
import { editedText, toolLine } from '../chat/tool-line.logic.ts'
import './activity.css'

const ROW_PX = 26

/** The tool calls as a log, and below it what the one that is chosen printed: the newest, until somebody chooses. */
export default function ActivityPane({ onTurn }: { onTurn(turnId: string): void }) {
  useWholeSession()
  const items = useSession(({ state }) => state.items)
  const tools = useMemo(() => items.filter((item): item is ToolItem => item.kind === 'tool'), [items])
  const [chosenId, setChosenId] = useState<string | null>(null)
  const chosen = tools.find(({ id }) => id === chosenId) ?? tools.at(-1)
  if (!chosen) return <Empty title="Nothing done yet">Each tool that the agent uses is listed here.</Empty>
  return (
    <div className="activity">
      <VirtualList
        label="Tool calls"
        className="activity__log"
        count={tools.length}
        estimate={() => ROW_PX}
        keyOf={index => tools[index]?.seq ?? index}
        row={index => {
          const tool = tools[index]
          return tool ? (
            <ActivityRow tool={tool} on={tool === chosen} onChoose={() => setChosenId(tool.id)} />
          ) : null
        }}
      />
      <Terminal tool={chosen} onTurn={onTurn} />
    </div>
  )
}

const TONES: Readonly<Record<CallState, DotTone>> = {
  wants: 'need',
  runs: 'work',
  ran: 'ok',
  failed: 'bad',
  background: 'work',
  denied: 'quiet',
  undone: 'bad',
  'cut-off': 'quiet',
}

function ActivityRow({ tool, on, onChoose }: { tool: ToolItem; on: boolean; onChoose(): void }) {
  const { state, verb, object, reason, edited } = toolLine(tool, useProjectRoot())
  return (
    <button
      type="button"
      className={on ? 'activity__row activity__row--on' : 'activity__row'}
      aria-pressed={on}
      onClick={onChoose}
    >
      <span className="number">{tool.at.slice(11, 19)}</span>
      <Dot tone={TONES[state]} />
      <span className="hidden-visually">{state}</span>
      <span className="activity__name">{verb}</span>
      <span className="activity__argument truncate">{object}</span>
      {edited ? <span className="activity__reason truncate">{editedText(edited)}</span> : null}
      {reason ? <span className="activity__reason truncate">{reason}</span> : null}
      {tool.durationMs === null ? null : <span className="number">{formatDuration(tool.durationMs)}</span>}
    </button>
  )
}

function Terminal({ tool, onTurn }: { tool: ToolItem; onTurn(turnId: string): void }) {
  const live = useSession(({ extras }) => own(extras.output, tool.id))
  const { verb, object, reason, edited } = toolLine(tool, useProjectRoot())
  const about = [`${verb} ${object}`, edited && editedText(edited), reason].filter(Boolean).join(' · ')
  const { turnId } = tool
  return (
    <section className="terminal" aria-label="Output">
      <p className="terminal__head">
        <span className="truncate">{about}</span>
        {turnId === null ? null : (
          <button type="button" className="terminal__jump" onClick={() => onTurn(turnId)}>
            show turn
          </button>
        )}
      </p>
      <ScrollRegion className="terminal__text" label="What it printed">
        <pre>
          {isCutShort(tool, live) ? <Ansi text={`${live}\n`} /> : null}
          <Ansi text={tool.content ?? live ?? ''} />
        </pre>
        {tool.content === null && live === undefined ? <p className="number">no output yet</p> : null}
      </ScrollRegion>
    </section>
  )
}
