import {
  type ErrorItem,
  type GapItem,
  type NoticeItem,
  type TextItem,
  type ThinkingItem,
  todosOf,
  type UserItem,
} from '@chirality/core'
import { useState } from 'react'
import { Markdown } from '../../markdown/Markdown.tsx'
import { useHarness } from '../../state/server/use-client.ts'
import {
  useLiveText,
  useSession,
  useSessionActions,
  useSessionStore,
} from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { plural } from '../../ui/text/format.ts'
import { useOpenWhenFound } from '../find/found.tsx'
import { BudgetLine } from './BudgetLine.tsx'
import { errorCommand, errorHelp } from './error-help.ts'
import { groupNodes, type ItemNode, isGroup } from './rows.logic.ts'
import { TodoList } from './TodoList.tsx'
import { ToolGroupView, ToolView } from './ToolView.tsx'

export function ItemView({ node }: { node: ItemNode }) {
  const { item } = node
  switch (item.kind) {
    case 'user':
      return <UserMessage item={item} />
    case 'text':
      return <Answer item={item} />
    case 'thinking':
      return <ThinkingView item={item} />
    case 'tool':
      return (
        <ToolView
          node={node}
          item={item}
          nested={node.children.length > 0 ? <SubAgent nodes={node.children} /> : null}
        />
      )
    case 'notice':
      return <NoticeLine item={item} />
    case 'error':
      return <ErrorLine item={item} />
    case 'budget':
      return <BudgetLine item={item} />
    case 'gap':
      return <GapLine item={item} />
  }
}

function UserMessage({ item }: { item: UserItem }) {
  const pointer = usePointedAt()
  return (
    <article className="you" aria-label="You" data-seq={item.seq} {...pointer.props}>
      <div className="you__text">{item.text}</div>
      {item.attachments > 0 ? <p className="you__note">{plural(item.attachments, 'attachment')}</p> : null}
      {pointer.on ? <MessageActions text={item.text} turnId={item.turnId} own /> : null}
    </article>
  )
}

function Answer({ item }: { item: TextItem }) {
  const live = useLiveText(item.id)
  const pointer = usePointedAt()
  const text = item.streaming ? (live ?? '') : item.text
  return (
    <article className="say" aria-label="Agent" data-seq={item.seq} {...pointer.props}>
      <Markdown text={text} live={item.streaming} />
      {item.aborted ? <p className="say__note">cut short</p> : null}
      {pointer.on && !item.streaming ? <MessageActions text={item.text} turnId={item.turnId} /> : null}
    </article>
  )
}

function ErrorLine({ item }: { item: ErrorItem }) {
  const harness = useHarness(useSession(({ state }) => state.agent.harness))
  // The end of the turn says so.
  if (item.code === 'interrupted') return null
  const help = errorHelp(item)
  const command = errorCommand(item, harness)
  return (
    <div
      className={item.recovered ? 'quiet-line' : 'error-line'}
      role={item.recovered ? undefined : 'alert'}
      data-seq={item.seq}
    >
      <span className="error-line__text">{item.message}</span>
      {help && !item.recovered ? <span className="error-line__help">{help}</span> : null}
      {command && !item.recovered ? (
        <span className="error-line__command">
          <code>{command}</code>
          <CopyButton text={command} label="Copy the command" />
        </span>
      ) : null}
      {!item.recovered && !NO_RETRY.has(item.code) ? <RetryTurn turnId={item.turnId} /> : null}
    </div>
  )
}

/** Errors that sending again cannot mend: each has a control of its own. */
const NO_RETRY: ReadonlySet<ErrorItem['code']> = new Set(['max_turns', 'budget_exceeded', 'interrupted'])

/** Sends what was asked in the turn once more; only of the last turn, and only when it is over. */
function RetryTurn({ turnId }: { turnId: string | null }) {
  const store = useSessionStore()
  const { retry } = useSessionActions()
  const isOver = useSession(({ state }) => {
    const last = state.turns.at(-1)
    return last?.id === turnId && last.endedAt !== null && state.phase === 'idle'
  })
  if (!retry || !isOver) return null
  const send = () => {
    const asked = store.get().state.items.find(item => item.kind === 'user' && item.turnId === turnId)
    if (asked?.kind === 'user') retry(asked.text, turnId)
  }
  return (
    <span className="error-line__retry">
      <Button size="small" onClick={send}>
        <Icon name="retry" size={13} /> Retry
      </Button>
    </span>
  )
}

function GapLine({ item }: { item: GapItem }) {
  return (
    <p className="quiet-line quiet-line--warn">{`${plural(item.missing, 'event')} of the log cannot be read: ${item.reason}`}</p>
  )
}

/** Shown over the message that is pointed at; nothing moves for it. The keyboard finds the same at the end of the turn. */
function MessageActions(props: { text: string; turnId: string | null; own?: boolean }) {
  const { text, turnId, own = false } = props
  const actions = useSessionActions()
  return (
    <div className="message-actions">
      <CopyButton text={text} />
      {own && actions.retry ? (
        <IconButton icon="retry" label="Retry this message" onClick={() => actions.retry?.(text, turnId)} />
      ) : null}
      {own && turnId !== null && actions.goBack ? (
        <IconButton icon="undo" label="Back to here" onClick={() => actions.goBack?.(turnId)} />
      ) : null}
      {turnId !== null && actions.fork ? (
        <IconButton icon="fork" label="Fork from here" onClick={() => actions.fork?.(turnId)} />
      ) : null}
    </div>
  )
}

/** Retries, limits, hooks, tasks: said once, quietly. */
function NoticeLine({ item }: { item: NoticeItem }) {
  const todos = todosOf(item)
  if (todos.length > 0) return <TodoList todos={todos} seq={item.seq} />
  // The end of the turn says so.
  if (item.status === 'interrupted') return null
  const isPerson = item.data?.kind === 'user_message'
  if (isPerson)
    return (
      <div className="you you--added" data-seq={item.seq}>
        {item.message}
      </div>
    )
  // How a sub-agent ended, in its own words.
  if (item.status === 'task' && typeof item.data?.summary === 'string') {
    return (
      <div className={`quiet-line quiet-line--${item.level}`} data-seq={item.seq}>
        <Markdown text={item.message} />
      </div>
    )
  }
  return (
    <p className={`quiet-line quiet-line--${item.level}`} data-seq={item.seq}>
      {item.message}
    </p>
  )
}

/** Whether a mouse is over it. What is shown only then need not be drawn for every row of a long list. */
function usePointedAt() {
  const [on, setOn] = useState(false)
  return { on, props: { onMouseEnter: () => setOn(true), onMouseLeave: () => setOn(false) } }
}

/** Folded away: who wants to know how it came to its answer can open it. */
function ThinkingView({ item }: { item: ThinkingItem }) {
  const live = useLiveText(item.id)
  const text = item.streaming ? (live ?? '') : item.text
  const [open, setOpen] = useState(false)
  useOpenWhenFound({ seq: item.seq, inside: [] }, () => setOpen(true))
  return (
    <details
      className="think"
      data-seq={item.seq}
      open={open}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>
        <Icon name="think" />
        <span className="tool__name">{item.streaming ? 'Thinking' : 'Thought'}</span>
        <span className="number">{wordCount(text)}</span>
        <Icon name="chevron" size={12} />
      </summary>
      <div className="think__text">{text}</div>
    </details>
  )
}

function wordCount(text: string): string {
  const words = text.length === 0 ? 0 : Math.max(1, Math.round(text.length / CHARS_PER_WORD))
  return `~${words} words`
}

const CHARS_PER_WORD = 6

/** The newest steps are what one wants to see; a sub-agent can take hundreds. */
const SHOWN_STEPS = 20

function SubAgent({ nodes }: { nodes: readonly ItemNode[] }) {
  const [all, setAll] = useState(false)
  useOpenWhenFound({ seq: null, inside: nodes }, () => setAll(true))
  const shown = all ? nodes : nodes.slice(-SHOWN_STEPS)
  const hidden = nodes.length - shown.length
  return (
    <div className="sub-agent">
      {hidden > 0 ? (
        <Button look="quiet" size="small" onClick={() => setAll(true)}>
          {`Show ${hidden} earlier`}
        </Button>
      ) : null}
      {groupNodes(shown).map(entry =>
        isGroup(entry) ? (
          <ToolGroupView key={`group-${entry.tools[0]?.seq}`} group={entry} />
        ) : (
          <ItemView key={entry.item.seq} node={entry} />
        ),
      )}
    </div>
  )
}
