import { type KeyboardEvent, lazy, Suspense, useEffect, useEffectEvent, useRef, useState } from 'react'
import { saveComments, useComments, withComments } from '../../state/kept/comments.ts'
import { saveDraft, useDraft } from '../../state/kept/drafts.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useClient, useHarness } from '../../state/server/use-client.ts'
import { useSession, useSessionStore } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { plural } from '../../ui/text/format.ts'
import { TaskNotice } from '../session/TaskNotice.tsx'
import { WentBackNotice } from '../session/WentBackNotice.tsx'
import { WorktreeNotice } from '../session/WorktreeNotice.tsx'
import { ProjectSettings } from '../trust/ProjectSettings.tsx'
import { Chips } from './Chips.tsx'
import { putIntoOutbox } from './outbox.ts'
import { OutboxList, QueueList, SteeredList } from './QueueList.tsx'
import { StopButton } from './StopButton.tsx'
import { takeFocus } from './take-focus.ts'
import { useAttachments } from './use-attachments.ts'
import { type Suggestion, useCompletions } from './use-completions.ts'
import './composer.css'
import type { Attachment } from './attachments.ts'

const OverlapNotice = lazy(() => import('../session/OverlapNotice.tsx'))

export function Composer({ status }: { status: SessionStatus }) {
  const client = useClient()
  const { sessionId } = status
  const field = useRef<HTMLTextAreaElement>(null)
  const text = useDraft(sessionId)
  const setText = (next: string) => saveDraft(sessionId, next)
  const comments = useComments(sessionId)
  const phase = useSession(({ state }) => state.phase)
  const harness = useHarness(status.harness)
  const [wish, setWish] = useState<'send' | 'steer' | null>(null)
  const [unchecked, setUnchecked] = useState(false)
  const files = useAttachments(sessionId, harness?.capabilities.supportsImages ?? true)
  const completions = useCompletions({ status, text, field, onChange: setText })
  const history = useHistory(text, setText)
  const busy = phase !== 'idle' || (status.phase !== 'idle' && status.phase !== 'ending')
  // A card that waits has the key first.
  const canStop = busy && status.pending.length === 0
  const empty = text.trim() === '' && comments.length === 0 && files.list.length === 0

  // A session that was just made waits for its first message.
  const isNew = status.lastTurn === null && !busy
  useEffect(() => takeFocus(field.current, sessionId, isNew), [])

  // The agent starts while the person still writes. If it cannot, the turn will say why.
  const prewarm = () => void client.turns.prewarm.mutate({ sessionId }).catch(() => undefined)

  const send = (how: 'send' | 'steer') => {
    if (files.isReading()) return setWish(how)
    setWish(null)
    if (empty) return
    const kept = withComments(text.trim(), comments)
    const message = {
      text: kept || 'See the attached files.',
      parts: files.list.map(({ part }) => part),
      ...(unchecked ? { permissionMode: 'bypassPermissions' as const } : {}),
    }
    putIntoOutbox(client, sessionId, {
      how,
      text: text.trim(),
      kept,
      comments,
      attached: files.list,
      message,
    })
    setUnchecked(false)
    history.reset()
  }

  // Who pastes a picture and presses Enter means the picture, too.
  const sendWished = useEffectEvent(() => wish !== null && send(wish))
  useEffect(() => {
    if (!files.reading) sendWished()
  }, [files.reading, wish])

  const onKeyDown = (event: React.KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing || completions.onKey(event) || history.onKey(event)) return
    if (event.key === 'Escape' && !event.shiftKey && !(canStop && text === '')) {
      event.preventDefault()
      field.current?.blur()
    }
    if (event.key !== 'Enter' || event.shiftKey || event.altKey) return
    event.preventDefault()
    send(busy && (event.ctrlKey || event.metaKey) ? 'steer' : 'send')
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files are dropped here; the button with the clip does the same
    <div className="composer" onDragOver={event => event.preventDefault()} onDrop={files.onDrop}>
      {status.logHealth === 'paused' ? (
        <p className="composer__paused" role="alert">
          The log of this session cannot be written. Is the disk full? The agent waits until it can.
        </p>
      ) : null}
      {/* Of this machine's folders only. */}
      {status.machine ? null : (
        <>
          <ProjectSettings status={status} when="unused" />
          <WorktreeNotice status={status} />
          <Suspense fallback={null}>
            <OverlapNotice status={status} />
          </Suspense>
        </>
      )}
      <TaskNotice status={status} />
      <WentBackNotice sessionId={sessionId} />
      <SteeredList steered={status.steered} />
      <QueueList status={status} />
      <OutboxList sessionId={sessionId} />
      <div className="composer__box">
        <CompletionList {...completions} />
        <AttachmentList list={files.list} onRemove={files.remove} />
        {comments.length > 0 ? (
          <p className="composer__comments">
            {`${plural(comments.length, 'comment')} on changes will go with this message`}
            <IconButton icon="close" label="Drop the comments" onClick={() => saveComments(sessionId, [])} />
          </p>
        ) : null}
        <textarea
          id="composer"
          ref={field}
          className="composer__field"
          rows={2}
          value={text}
          aria-label="Message"
          placeholder={busy ? 'Reply, or queue the next message' : 'What should be done?'}
          onChange={event => {
            if (text === '' && !busy && harness?.capabilities.supportsPrewarm) prewarm()
            setText(event.target.value)
            completions.onSelect(event)
          }}
          onKeyDown={onKeyDown}
          onSelect={completions.onSelect}
          onPaste={files.onPaste}
          {...completions.fieldProps}
        />
        <div className="composer__row">
          <div className="chips">
            <Chips {...{ status, harness, busy, unchecked }} onUnchecked={setUnchecked} />
          </div>
          <IconButton icon="attach" label="Attach files" onClick={files.choose} />
          {busy && harness?.capabilities.supportsSteering ? (
            <Button disabled={empty} title="Ctrl Enter" onClick={() => send('steer')}>
              Send now
            </Button>
          ) : null}
          <Button look={busy ? 'plain' : 'primary'} disabled={empty} onClick={() => send('send')}>
            {busy ? 'Queue' : 'Send'}
          </Button>
          <StopButton status={status} busy={busy} />
        </div>
      </div>
    </div>
  )
}

function AttachmentList(props: { list: readonly Attachment[]; onRemove(id: string): void }) {
  if (props.list.length === 0) return null
  return (
    <ul className="attachments" aria-label="Attached">
      {props.list.map(({ id, name, preview }) => (
        <li key={id}>
          {preview ? <img src={preview} alt="" /> : null}
          <span className="truncate">{name}</span>
          <IconButton icon="close" label={`Remove ${name}`} onClick={() => props.onRemove(id)} />
        </li>
      ))}
    </ul>
  )
}

/** Arrow up in an empty field brings back what was sent before, as in a shell. */
function useHistory(text: string, setText: (text: string) => void) {
  const store = useSessionStore()
  const place = useRef<number | null>(null)
  const messages = () => store.get().state.items.flatMap(item => (item.kind === 'user' ? [item.text] : []))
  return {
    reset: () => {
      place.current = null
    },
    onKey: (event: KeyboardEvent): boolean => {
      if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') {
        place.current = null
        return false
      }
      const all = messages()
      const browsing = place.current !== null
      if (!browsing && (event.key === 'ArrowDown' || text !== '')) return false
      const next = (place.current ?? all.length) + (event.key === 'ArrowUp' ? -1 : 1)
      if (next < 0) return true
      event.preventDefault()
      place.current = next < all.length ? next : null
      setText(all[next] ?? '')
      return true
    },
  }
}

interface CompletionListProps {
  listId: string
  suggestions: readonly Suggestion[]
  active: number
  choose(name: string): void
}

function CompletionList({ listId, suggestions, active, choose }: CompletionListProps) {
  if (suggestions.length === 0) return null
  return (
    <div className="completions" role="listbox" id={listId} aria-label="Suggestions">
      {suggestions.map(({ name, note }, index) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and points here
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
        <div
          key={name}
          id={`${listId}-${index}`}
          role="option"
          aria-selected={index === active}
          className={index === active ? 'completions__item completions__item--on' : 'completions__item'}
          onMouseDown={event => event.preventDefault()}
          onClick={() => choose(name)}
        >
          <span className="completions__name">{name}</span>
          {note ? <span className="completions__note truncate">{note}</span> : null}
        </div>
      ))}
    </div>
  )
}
