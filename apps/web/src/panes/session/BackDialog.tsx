import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { saveDraft } from '../../state/kept/drafts.ts'
import { saveWayBack } from '../../state/kept/went-back.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import './back.css'

/** Says what going back would restore and what it cannot, before anything is done. */
export default function BackDialog(props: { sessionId: string; turnId: string; onClose(): void }) {
  const { sessionId, turnId, onClose } = props
  const client = useClient()
  const navigate = useNavigate()
  const [isGoing, setIsGoing] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const [overwrite, setOverwrite] = useState<ReadonlySet<string>>(new Set())
  const { data, error } = useQuery(
    client.review.backPlan.queryOptions({ sessionId, turnId }, { staleTime: 0, gcTime: 0, retry: false }),
  )
  const goBack = async () => {
    setIsGoing(true)
    setFailure(undefined)
    try {
      const { session, moveId, prompt, left } = await client.review.back.mutate({
        sessionId,
        turnId,
        overwrite: [...overwrite],
      })
      saveWayBack(session.id, { from: sessionId, moveId, prompt })
      if (left.length > 0)
        toasts.error(
          `Not restored, because somebody else changed them meanwhile: ${left.join(', ')}`,
          session.id,
        )
      saveDraft(session.id, prompt)
      onClose()
      await navigate({ to: '/s/$sessionId', params: { sessionId: session.id } })
    } catch (failed) {
      setFailure(failed)
      setIsGoing(false)
    }
  }
  const problem = failure ?? error
  const changed = new Set(data?.changedSince)
  const restored = data?.files.filter(file => !changed.has(file)) ?? []
  return (
    <Dialog title="Back to before this turn" onClose={onClose}>
      <div className="back">
        <p>
          Files and conversation become as they were before this turn. This session stays in the archive with
          all of its history. Going back can be undone: in the new session, and from another browser in the
          changes of this one.
        </p>
        {data ? (
          <>
            <p>
              {restored.length === 0
                ? 'No file has to change.'
                : restored.length === 1
                  ? 'One file becomes as it was:'
                  : `${restored.length} files become as they were:`}
            </p>
            <Names files={restored} />
            {data.changedSince.length > 0 ? (
              <fieldset className="back__since">
                <legend>Changed by somebody else, too. They stay as they are, unless you choose them:</legend>
                {data.changedSince.map(file => (
                  <label key={file}>
                    <input
                      type="checkbox"
                      checked={overwrite.has(file)}
                      onChange={({ target }) => {
                        const chosen = new Set(overwrite)
                        if (target.checked) chosen.add(file)
                        else chosen.delete(file)
                        setOverwrite(chosen)
                      }}
                    />
                    <code>{file}</code>
                  </label>
                ))}
              </fieldset>
            ) : null}
            <p>What this cannot undo:</p>
            <ul className="back__cannot">
              {data.cannotUndo.map(words => (
                <li key={words}>{words}</li>
              ))}
            </ul>
          </>
        ) : problem ? null : (
          <p role="status">Comparing the files…</p>
        )}
        {problem ? (
          <p className="back__bad" role="alert">
            {messageOf(problem)}
          </p>
        ) : null}
        <div className="back__foot">
          <Button look="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button look="primary" disabled={data === undefined || isGoing} onClick={() => void goBack()}>
            {isGoing ? 'Going back…' : 'Go back'}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

const MAX_NAMES = 200

function Names({ files }: { files: readonly string[] }) {
  if (files.length === 0) return null
  const rest = files.length - MAX_NAMES
  return (
    <ul className="back__files">
      {files.slice(0, MAX_NAMES).map(file => (
        <li key={file}>{file}</li>
      ))}
      {rest > 0 ? <li>{`and ${rest} more`}</li> : null}
    </ul>
  )
}
