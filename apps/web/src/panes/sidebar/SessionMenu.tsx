import { type ReactElement, Suspense, useState } from 'react'
import { awayWords } from '../../app/project.ts'
import { useShell } from '../../app/shell/shell-context.ts'
import { setProjectFilter } from '../../state/kept/project-filter.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Menu, type MenuItem } from '../../ui/controls/Menu.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { late } from '../../ui/overlay/late.tsx'
import { sessionTitle } from '../../words/session-title.ts'
import { useListActions } from './use-list-actions.ts'

const ForkDialog = late(() => import('../session/ForkDialog.tsx'))

/** Menu of a session. `trigger` opens it; without one it is the button of a row. */
export function SessionMenu({
  status,
  onRename,
  trigger,
}: {
  status: SessionStatus
  onRename(): void
  trigger?: ReactElement
}) {
  const actions = useListActions()
  const shell = useShell()
  const [asking, setAsking] = useState<'fork' | 'delete' | null>(null)
  const { sessionId, projectRoot, shelf } = status
  const name = sessionTitle(status)
  const close = () => setAsking(null)
  const shelve = (to: SessionStatus['shelf']) => () => actions.shelve([sessionId], to)
  const rests = status.phase === 'idle'
  const away = awayWords(status.machine)
  /** Entries that need the machine of the session. */
  const there = away === null ? {} : { disabled: true, detail: away }
  // `here`: only for a session of this machine.
  const items: (MenuItem & { here?: true })[] = [
    { label: 'Rename', icon: 'edit', onSelect: onRename, ...there },
    shelf === 'pinned'
      ? { label: 'Unpin', icon: 'pin', onSelect: shelve(null), ...there }
      : { label: 'Pin to the top', icon: 'pin', onSelect: shelve('pinned'), ...there },
    shelf === 'archived'
      ? { label: 'Back to the list', icon: 'archive', onSelect: shelve(null), ...there }
      : { label: 'Archive', icon: 'archive', onSelect: shelve('archived'), ...there },
    { label: 'Fork…', icon: 'fork', onSelect: () => setAsking('fork'), ...there },
    {
      label: 'Export as Markdown',
      icon: 'end',
      onSelect: () => void actions.exportAs([sessionId], 'markdown'),
    },
    {
      label: 'Export as a page that replays it',
      icon: 'end',
      onSelect: () => void actions.exportAs([sessionId], 'html'),
    },
    {
      label: 'Processes…',
      icon: 'terminal',
      onSelect: () => shell.open({ kind: 'processes', sessionId }),
      here: true,
    },
    { label: 'Only this project', icon: 'folder', onSelect: () => setProjectFilter(projectRoot) },
    {
      label: rests ? 'Delete' : 'Delete…',
      icon: 'remove',
      onSelect: () => (rests ? actions.discard([sessionId]) : setAsking('delete')),
      danger: true,
      ...there,
    },
  ]
  return (
    <>
      <Menu
        trigger={
          trigger ?? (
            <IconButton className="icon-button session-row__more" icon="more" label={`More for ${name}`} />
          )
        }
        items={items.filter(({ here }) => !here || !status.machine)}
      />
      {asking === 'fork' ? (
        <Suspense>
          <ForkDialog status={status} onClose={close} />
        </Suspense>
      ) : null}
      {asking === 'delete' ? (
        <Dialog title="Delete this session?" onClose={close}>
          <div className="session-dialog">
            <p>{`"${name}" works. Its turn is stopped now, and goes on by no undo. ${status.worktree ? 'Its worktree is removed, and the work in it is kept.' : 'What the agent changed in your files stays.'}`}</p>
            <div className="session-dialog__foot">
              <Button look="quiet" onClick={close}>
                Cancel
              </Button>
              <Button
                look="danger"
                onClick={() => {
                  close()
                  actions.discard([sessionId])
                }}
              >
                Stop and delete
              </Button>
            </div>
          </div>
        </Dialog>
      ) : null}
    </>
  )
}

/** The name of a session, written over where it stands. Enter and leaving keep it, Escape does not. */
export function RenameField(props: { title: string; onDone(title: string | null): void }) {
  const [title, setTitle] = useState(props.title)
  const done = (kept: string) => props.onDone(kept === '' || kept === props.title ? null : kept)
  return (
    <input
      className="input session-row__name"
      aria-label="Name"
      value={title}
      maxLength={300}
      // biome-ignore lint/a11y/noAutofocus: it is there because the person asked to rename
      autoFocus
      onFocus={event => event.target.select()}
      onChange={event => setTitle(event.target.value)}
      onBlur={() => done(title.trim())}
      onKeyDown={event => {
        if (event.nativeEvent.isComposing) return
        if (event.key === 'Enter') done(title.trim())
        else if (event.key === 'Escape') props.onDone(null)
        else return
        event.preventDefault()
        event.stopPropagation()
      }}
    />
  )
}
