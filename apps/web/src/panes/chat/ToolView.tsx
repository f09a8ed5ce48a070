import { factsOf, formatDuration, type ToolItem } from '@chirality/core'
import { type ReactNode, useState } from 'react'
import { DiffCount } from '../../diff/DiffCount.tsx'
import { DiffView } from '../../diff/DiffView.tsx'
import { toolEdits } from '../../diff/tool-edits.ts'
import { useProjectRoot, useSession } from '../../state/session/use-session.ts'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { own } from '../../ui/own.ts'
import { plural } from '../../ui/text/format.ts'
import { countSteps, type ItemNode } from './rows.logic.ts'
import { TodoList } from './TodoList.tsx'
import { ToolBody } from './ToolBody.tsx'
import { lastLine, relative, toolSummary } from './tool-summary.logic.ts'
import './tool.css'
import type { Decided } from '../../state/session/session-extras.ts'

/** A diff up to this long is open from the start; a longer one would push the conversation away. */
const OPEN_DIFF_LINES = 24

export function ToolView(props: { node: ItemNode; item: ToolItem; nested: ReactNode }) {
  const { node, item, nested } = props
  const cwd = useProjectRoot()
  const edits = toolEdits(item)
  const lines = edits.reduce((sum, { added, removed }) => sum + added + removed, 0)
  const [choice, setChoice] = useState<boolean | null>(null)
  const { todos } = factsOf(item)
  if (todos) return <TodoList todos={todos} />

  const smallEdit = edits.length > 0 && lines <= OPEN_DIFF_LINES
  const open = choice ?? (smallEdit || item.status === 'failed' || isBusyAgent(node, item))
  const { name, argument, note } = toolSummary(item, cwd)
  const steps = countSteps(node.children)
  return (
    <article className="tool" aria-label={`${name} ${argument}`}>
      <button type="button" className="tool__head" aria-expanded={open} onClick={() => setChoice(!open)}>
        <Icon name="chevron" size={12} />
        <span className="tool__name">{name}</span>
        <span className="tool__argument truncate">{argument}</span>
        <LastLine item={item} />
        {node.children.length > 0 ? <span className="number">{plural(steps, 'step')}</span> : null}
        {note ? (
          <span className={item.status === 'failed' ? 'number tool__bad' : 'number'}>{note}</span>
        ) : null}
        {edits.length > 0 ? <DiffCount added={sum(edits, 'added')} removed={sum(edits, 'removed')} /> : null}
        <ToolTime item={item} />
      </button>
      {open ? (
        <div className="tool__body">
          {edits.map(edit => (
            <div key={edit.path}>
              {edits.length > 1 ? <p className="tool__path">{relative(edit.path, cwd)}</p> : null}
              <DiffView diff={edit} />
            </div>
          ))}
          {nested}
          <DecidedLine toolUseId={item.id} />
          <ToolBody item={item} hasEdits={edits.length > 0} hasSteps={node.children.length > 0} />
        </div>
      ) : null}
    </article>
  )
}

/** What a command that runs printed last: its whole output is one click away. */
function LastLine({ item }: { item: ToolItem }) {
  const output = useSession(({ extras }) =>
    item.status === 'running' ? own(extras.output, item.id) : undefined,
  )
  const line = output === undefined ? '' : lastLine(output)
  return line === '' ? null : <span className="tool__last truncate">{line}</span>
}

function ToolTime({ item }: { item: ToolItem }) {
  const waits = useSession(({ state }) => state.pending.some(({ toolUseId }) => toolUseId === item.id))
  if (item.status === 'running') {
    return (
      <span className="number tool__running">
        <Dot tone={waits ? 'need' : 'work'} /> {waits ? 'waits for you' : 'running'}
      </span>
    )
  }
  if (item.durationMs !== null) return <span className="number">{formatDuration(item.durationMs)}</span>
  const goesOn = item.wait?.background && item.status === 'done'
  return goesOn ? <span className="number">in the background</span> : null
}

function isBusyAgent({ children }: ItemNode, { status }: ToolItem): boolean {
  return status === 'running' && children.length > 0
}

function sum(edits: readonly { added: number; removed: number }[], side: 'added' | 'removed'): number {
  return edits.reduce((total, edit) => total + edit[side], 0)
}

/** Who allowed a call or did not, and by which rule. */
function DecidedLine({ toolUseId }: { toolUseId: string }) {
  const decided = useSession(({ extras }) => extras.decisions.findLast(one => one.toolUseId === toolUseId))
  if (decided === undefined || decided.by === 'nobody') return null
  return <p className="tool__label">{wordsOf(decided)}</p>
}

const WHO: Readonly<Record<string, string>> = {
  person: 'by you',
  policy: 'by a rule',
  timeout: 'because nobody answered',
  agent: 'by the agent itself',
  'turn-end': 'with the end of the turn',
  failure: 'because no answer could be had',
}

function wordsOf({ outcome, by, rule, message }: Decided): string {
  const how = outcome === 'allowed' ? 'Allowed' : outcome === 'denied' ? 'Denied' : 'Taken back'
  return [`${how} ${WHO[by] ?? ''}`.trim(), rule, message].filter(Boolean).join(': ')
}
