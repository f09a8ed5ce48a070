import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useFleetStore } from '../../state/fleet/use-fleet.ts'
import { setProjectFilter } from '../../state/kept/project-filter.ts'
import type { SessionStatus } from '../../state/server/server-api.ts'
import { useApi } from '../../state/server/use-api.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Menu } from '../../ui/controls/Menu.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { ForkDialog } from '../session/ForkDialog.tsx'
import { sessionTitle } from './session-title.ts'

/** What else can be done with a session. */
export function SessionMenu({ status, active }: { status: SessionStatus; active: boolean }) {
  const api = useApi()
  const fleet = useFleetStore()
  const navigate = useNavigate()
  const [asking, setAsking] = useState<'rename' | 'fork' | 'delete' | null>(null)
  const { sessionId, projectRoot } = status
  const name = sessionTitle(status)
  const close = () => setAsking(null)
  const attempt = (action: Promise<unknown>) => {
    close()
    action.catch((error: unknown) => toasts.error(messageOf(error)))
  }
  const rename = (title: string) =>
    attempt(
      api.renameSession(sessionId, title).then(() => {
        // As it is by now: the session went on meanwhile.
        const now = fleet.get(sessionId)
        if (now) fleet.update([{ ...now, title }])
      }),
    )
  const remove = async () => {
    await api.deleteSession(sessionId)
    fleet.remove(sessionId)
    if (active) await navigate({ to: '/' })
  }
  return (
    <>
      <Menu
        trigger={
          <IconButton className="icon-button session-row__more" icon="more" label={`More for ${name}`} />
        }
        items={[
          { label: 'Rename…', onSelect: () => setAsking('rename') },
          { label: 'Fork…', onSelect: () => setAsking('fork') },
          {
            label: 'Only this project',
            onSelect: () => setProjectFilter(projectRoot),
          },
          { label: 'Delete…', onSelect: () => setAsking('delete'), danger: true },
        ]}
      />
      {asking === 'rename' ? (
        <RenameDialog title={status.title ?? ''} onSave={rename} onClose={close} />
      ) : null}
      {asking === 'fork' ? <ForkDialog sessionId={sessionId} onClose={close} /> : null}
      {asking === 'delete' ? (
        <Dialog title="Delete this session?" onClose={close}>
          <div className="session-dialog">
            <p>{`"${name}" and all that is kept of it will be gone. What the agent changed in your files stays.`}</p>
            <div className="session-dialog__foot">
              <Button look="quiet" onClick={close}>
                Cancel
              </Button>
              <Button look="danger" onClick={() => attempt(remove())}>
                Delete
              </Button>
            </div>
          </div>
        </Dialog>
      ) : null}
    </>
  )
}

function RenameDialog(props: { title: string; onSave(title: string): void; onClose(): void }) {
  const [title, setTitle] = useState(props.title)
  return (
    <Dialog title="Rename the session" onClose={props.onClose}>
      <form
        className="session-dialog"
        onSubmit={event => {
          event.preventDefault()
          if (title.trim() !== '') props.onSave(title.trim())
        }}
      >
        <Field label="Name">
          {id => (
            <input
              id={id}
              className="input"
              value={title}
              maxLength={300}
              onChange={event => setTitle(event.target.value)}
              data-first
            />
          )}
        </Field>
        <div className="session-dialog__foot">
          <Button type="submit" look="primary" disabled={title.trim() === ''}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
