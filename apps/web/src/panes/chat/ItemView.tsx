import type { ErrorItem, GapItem, TextItem, UserItem } from '@chirality/core'
import { Markdown } from '../../markdown/Markdown.tsx'
import { useLiveText, useSession } from '../../state/session/use-session.ts'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { plural } from '../../ui/text/format.ts'
import { BudgetLine } from './BudgetLine.tsx'
import { errorCommand, errorHelp } from './error-help.ts'
import { MessageActions } from './MessageActions.tsx'
import { NoticeLine } from './NoticeLine.tsx'
import type { ItemNode } from './rows.logic.ts'
import { SubAgent } from './SubAgent.tsx'
import { ThinkingView } from './ThinkingView.tsx'
import { ToolView } from './ToolView.tsx'
import { usePointedAt } from './use-pointed-at.ts'

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
          nested={node.children.length > 0 ? <SubAgent nodes={node.children} View={ItemView} /> : null}
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
    <article className="you" aria-label="You" {...pointer.props}>
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
    <article className="say" aria-label="Agent" {...pointer.props}>
      <Markdown text={text} live={item.streaming} />
      {item.aborted ? <p className="say__note">cut short</p> : null}
      {pointer.on && !item.streaming ? <MessageActions text={item.text} turnId={item.turnId} /> : null}
    </article>
  )
}

function ErrorLine({ item }: { item: ErrorItem }) {
  const harness = useSession(({ state }) => state.agent.harness)
  // The end of the turn says so.
  if (item.code === 'interrupted') return null
  const help = errorHelp(item)
  const command = errorCommand(item, harness)
  return (
    <div className={item.recovered ? 'quiet-line' : 'error-line'} role={item.recovered ? undefined : 'alert'}>
      <span className="error-line__text">{item.message}</span>
      {help && !item.recovered ? <span className="error-line__help">{help}</span> : null}
      {command && !item.recovered ? (
        <span className="error-line__command">
          <code>{command}</code>
          <CopyButton text={command} label="Copy the command" />
        </span>
      ) : null}
    </div>
  )
}

function GapLine({ item }: { item: GapItem }) {
  return (
    <p className="quiet-line quiet-line--warn">{`${plural(item.missing, 'event')} of the log cannot be read: ${item.reason}`}</p>
  )
}
