import {
  type CallDecision,
  factsOf,
  formatDuration,
  isUndone,
  statedTokens,
  type ToolItem,
} from '@chirality/core'
import { type ReactNode, useState } from 'react'
import { DiffCount, DiffView } from '../../diff/DiffView.tsx'
import { toolEdits } from '../../diff/tool-edits.ts'
import { useProjectRoot, useSession } from '../../state/session/use-session.ts'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { own } from '../../ui/own.ts'
import { formatCost, formatCount, plural } from '../../ui/text/format.ts'
import { lastLine, relative } from '../../words/tool-summary.logic.ts'
import { useOpenWhenFound } from '../find/found.tsx'
import { countSteps, type ItemNode, type ToolGroup } from './rows.logic.ts'
import { TodoList } from './TodoList.tsx'
import { ToolBody } from './ToolBody.tsx'
import { groupLine, groupTime, toolLine } from './tool-line.logic.ts'
import './tool.css'

/** A diff up to this long is open from the start; a longer one would push the conversation away. */
const OPEN_DIFF_LINES = 12

export function ToolView(props: { node: ItemNode; item: ToolItem; nested: ReactNode }) {
  const { node, item, nested } = props
  const cwd = useProjectRoot()
  const edits = toolEdits(item)
  const lines = edits.reduce((sum, { added, removed }) => sum + added + removed, 0)
  const [choice, setChoice] = useState<boolean | null>(null)
  const isFound = useOpenWhenFound({ seq: item.seq, inside: node.children }, () => setChoice(true))
  const { todos } = factsOf(item)
  if (todos) return <TodoList todos={todos} seq={item.seq} />

  const { icon, verb, object, note, isBad, reason, edited } = toolLine(item, cwd)
  const undone = isUndone(item)
  const smallEdit = edits.length > 0 && lines <= OPEN_DIFF_LINES && !undone
  const open = choice ?? (smallEdit || isBad || isBusyAgent(node, item))
  const steps = countSteps(node.children)
  return (
    <article className={`tool tool--${item.status}`} aria-label={`${verb} ${object}`} data-seq={item.seq}>
      <button type="button" className="tool__head" aria-expanded={open} onClick={() => setChoice(!open)}>
        <Icon name={icon} />
        <span className="tool__name">{verb}</span>
        <span className="tool__argument truncate">{object}</span>
        {edited ? <EditedBy edited={edited} /> : null}
        {reason ? (
          <span
            className={isBad ? 'tool__reason tool__bad truncate' : 'tool__reason truncate'}
            title={reason}
          >
            {reason}
          </span>
        ) : null}
        <LastLine item={item} />
        <span className="tool__facts number">
          {node.children.length > 0 ? <span>{plural(steps, 'step')}</span> : null}
          <AgentSpent item={item} />
          {note ? <span className={isBad ? 'tool__bad' : undefined}>{note}</span> : null}
          {edits.length > 0 && !undone ? (
            <DiffCount added={sum(edits, 'added')} removed={sum(edits, 'removed')} />
          ) : null}
          <ToolTime item={item} />
        </span>
      </button>
      {open ? (
        <div className="tool__body">
          {edits.length > 0 && undone ? <p className="tool__label">Asked for, did not happen</p> : null}
          {edits.map(edit => (
            <div key={edit.path} className={undone ? 'tool__undone' : undefined}>
              {edits.length > 1 ? <p className="tool__path">{relative(edit.path, cwd)}</p> : null}
              <DiffView diff={edit} whole={isFound} />
            </div>
          ))}
          {nested}
          <DecidedLine item={item} />
          <ToolBody
            item={item}
            head={object}
            whole={isFound}
            hasEdits={edits.length > 0}
            hasSteps={node.children.length > 0}
          />
        </div>
      ) : null}
    </article>
  )
}

/** Calls of one kind, as one line that opens to a line for each. */
export function ToolGroupView({ group: { kind, tools } }: { group: ToolGroup }) {
  const [open, setOpen] = useState(false)
  const nodes = tools.map(item => ({ item, children: [] }))
  useOpenWhenFound({ seq: null, inside: nodes }, () => setOpen(true))
  const { icon, verb, object } = groupLine(kind, tools)
  const time = groupTime(tools)
  const last = tools.at(-1)
  return (
    <article className={`tool tool--${time === null ? 'running' : 'done'}`} aria-label={`${verb} ${object}`}>
      <button type="button" className="tool__head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={icon} />
        <span className="tool__name">{verb}</span>
        <span className="tool__count">{object}</span>
        <span className="tool__chevron">
          <Icon name="chevron" size={12} />
        </span>
        {last ? <LastLine item={last} /> : null}
        <span className="tool__facts number">
          {time === null ? 'running' : time > 0 ? formatDuration(time) : null}
        </span>
      </button>
      {open ? (
        <div className="tool__group">
          {nodes.map(node => (
            <ToolView key={node.item.seq} node={node} item={node.item} nested={null} />
          ))}
        </div>
      ) : null}
    </article>
  )
}

/** Another input ran than the agent asked for. */
function EditedBy({ edited: { by, asked } }: { edited: { by: string; asked: string } }) {
  return (
    <span className="tool__reason truncate">
      {by}
      {asked ? (
        <>
          {'; asked for '}
          <code className="tool__asked">{asked}</code>
        </>
      ) : null}
    </span>
  )
}

/** Last line that a running command printed; its whole output is one click away. */
function LastLine({ item }: { item: ToolItem }) {
  const output = useSession(({ extras }) =>
    item.status === 'running' ? own(extras.output, item.id) : undefined,
  )
  const line = output === undefined ? '' : lastLine(output)
  return line === '' ? null : <span className="tool__last truncate">{line}</span>
}

/** Cost of a sub-agent where the agent reports it, else the tokens of its result. */
function AgentSpent({ item }: { item: ToolItem }) {
  const spent = useSession(({ extras }) => own(extras.spent, item.id))
  const tokens = spent?.tokens ?? (factsOf(item).kind === 'task' ? statedTokens(item) : undefined)
  if (spent?.usd != null) return <span>{formatCost(spent.usd, true)}</span>
  return tokens === undefined ? null : <span>{`${formatCount(tokens)} tokens`}</span>
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
  const waitedMs = item.wait?.waitedMs ?? 0
  const waited =
    waitedMs >= SHOWN_WAIT_MS ? (
      <span className="number tool__waited">{`waited ${formatDuration(waitedMs)}`}</span>
    ) : null
  if (item.durationMs !== null)
    return (
      <>
        {waited}
        <span className="number">{formatDuration(item.durationMs)}</span>
      </>
    )
  const goesOn = item.wait?.background && item.status === 'done'
  return goesOn ? <span className="number">in the background</span> : waited
}

function isBusyAgent({ children }: ItemNode, { status }: ToolItem): boolean {
  return status === 'running' && children.length > 0
}

function sum(edits: readonly { added: number; removed: number }[], side: 'added' | 'removed'): number {
  return edits.reduce((total, edit) => total + edit[side], 0)
}

/** Decision on a call: by whom, by which rule, and how long the call waited. */
function DecidedLine({ item: { decided, wait } }: { item: ToolItem }) {
  if (decided === undefined) return null
  const waitedMs = wait?.waitedMs ?? 0
  return (
    <p className="tool__label">
      {wordsOf(decided)}
      {waitedMs >= SHOWN_WAIT_MS ? (
        <span className="number">{`waited ${formatDuration(waitedMs)} for the answer`}</span>
      ) : null}
    </p>
  )
}

const SHOWN_WAIT_MS = 1000

const WHO: Readonly<Record<CallDecision['by'], string>> = {
  person: 'by you',
  policy: 'by a rule',
  timeout: 'because nobody answered',
  agent: 'by the agent itself',
  'turn-end': 'with the end of the turn',
  failure: 'because no answer could be had',
}

function wordsOf({ outcome, by, rule, message }: CallDecision): string {
  const how = outcome === 'allowed' ? 'Allowed' : outcome === 'denied' ? 'Denied' : 'Taken back'
  return [`${how} ${WHO[by]}`, rule, message].filter(Boolean).join(': ')
}
