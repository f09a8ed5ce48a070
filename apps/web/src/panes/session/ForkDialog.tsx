import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { ForkHistory } from '../../state/server/server-api.ts'
import { useApi } from '../../state/server/use-api.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'

const WORDS: Readonly<Record<ForkHistory, string>> = {
  whole: 'The agent of the new session knows all of this conversation, with every tool call and result.',
  cut: 'The agent of the new session knows this conversation up to here, with every tool call and result. It knows nothing of what came later.',
  account:
    'The agent cannot cut its own conversation here. It begins a new one, and gets a written account of what is shown up to here: long texts and results are shortened, attachments are left out. It knows nothing of what came later.',
}

/** Says what the agent of the fork will know, before there is one. */
export function ForkDialog(props: { sessionId: string; atSeq?: number | undefined; onClose(): void }) {
  const { sessionId, atSeq, onClose } = props
  const api = useApi()
  const navigate = useNavigate()
  const [isForking, setIsForking] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const { data, error } = useQuery({
    queryKey: ['fork-history', sessionId, atSeq ?? null],
    queryFn: () => api.forkHistory(sessionId, atSeq),
    // The session may go on at any time.
    gcTime: 0,
  })
  const fork = async () => {
    setIsForking(true)
    try {
      const { id } = await api.forkSession(sessionId, atSeq)
      onClose()
      await navigate({ to: '/s/$sessionId', params: { sessionId: id } })
    } catch (failed) {
      setFailure(failed)
      setIsForking(false)
    }
  }
  const problem = failure ?? error
  return (
    <Dialog title="Fork from here" onClose={onClose}>
      <div className="session-dialog">
        <p>A new session with the same history. This one stays as it is, and both work in the same folder.</p>
        <p role="status">{data ? WORDS[data] : problem ? null : 'Asking what the agent will know…'}</p>
        {problem ? <p role="alert">{messageOf(problem)}</p> : null}
        <div className="session-dialog__foot">
          <Button look="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button look="primary" disabled={data === undefined || isForking} onClick={() => void fork()}>
            Fork
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
