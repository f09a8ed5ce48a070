import type { CallOutputs } from '@chirality/client'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { forkPlaces } from './fork-places.logic.ts'

/** Knowledge of a fork's agent: its own conversation, whole or cut, or a written account. */
type ForkHistory = CallOutputs['sessions']['forkHistory']

const WORDS: Readonly<Record<ForkHistory | 'elsewhere', string>> = {
  whole: 'The agent of the new session knows all of this conversation, with every tool call and result.',
  cut: 'The agent of the new session knows this conversation up to here, with every tool call and result. It knows nothing of what came later.',
  account:
    'The agent cannot cut its own conversation here. It begins a new one, and gets a written account of what is shown up to here: long texts and results are shortened, attachments are left out. It knows nothing of what came later.',
  elsewhere:
    'The agent there begins a new conversation, and gets a written account of what is shown up to here: long texts and results are shortened, attachments are left out.',
}

/** Then it is not known which of the two machines has it. */
const UNSETTLED: ReadonlySet<string> = new Set(['machine-silent', 'machine-away'])

interface ForkDialogProps {
  status: SessionStatus
  atSeq?: number | undefined
  onClose(): void
}

/** Says what the agent of the fork will know and where it works, before there is one. */
export default function ForkDialog({ status, atSeq, onClose }: ForkDialogProps) {
  const { sessionId, harness, projectRoot, worktree } = status
  const client = useClient()
  const navigate = useNavigate()
  const [isForking, setIsForking] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const [to, setTo] = useState('')
  const { data, error } = useQuery(
    client.sessions.forkHistory.queryOptions(
      { sessionId, atSeq },
      {
        // The session may go on at any time.
        gcTime: 0,
      },
    ),
  )
  const { data: placement } = useQuery(
    client.fleet.place.queryOptions(
      { harness: harness ?? '', project: projectRoot, machine: status.machine?.name },
      { enabled: harness !== null, staleTime: 0, gcTime: 0, retry: false },
    ),
  )
  const places = forkPlaces(placement, status.machine?.name)
  const fork = async () => {
    setIsForking(true)
    try {
      const { id } = await client.sessions.fork.mutate({ sessionId, atSeq })
      // The fork is there already: it is shown also if it cannot go on elsewhere.
      if (to !== '')
        await client.fleet.move.mutate({ sessionId: id, to }).catch((failed: unknown) => {
          const where = UNSETTLED.has(reasonOf(failed) ?? '')
            ? `The fork is made, and its move to ${to} is not over: its page says which machine it is on.`
            : `The fork stays where it was made: it could not go to ${to}.`
          toasts.error(`${where} ${messageOf(failed)}`, id)
        })
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
        <p>{`A new session with the same history. This one stays as it is, ${folderWords(to, worktree)}`}</p>
        {places ? <SelectField label="Where" value={to} onChange={setTo} options={places} /> : null}
        <p role="status">
          {data ? WORDS[to === '' ? data : 'elsewhere'] : problem ? null : 'Asking what the agent will know…'}
        </p>
        {problem ? <p role="alert">{messageOf(problem)}</p> : null}
        <div className="session-dialog__foot">
          <Button look="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button look="primary" disabled={data === undefined || isForking} onClick={() => void fork()}>
            {isForking ? 'Forking…' : 'Fork'}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

function folderWords(to: string, worktree: SessionStatus['worktree']): string {
  if (to !== '')
    return `and the new one works on ${to}, in a worktree of its own, without files that git ignores.`
  return worktree ? 'and the new one gets a worktree of its own.' : 'and both work in the same folder.'
}

/** Why the server refused it, as a code. */
function reasonOf(error: unknown): string | undefined {
  const { data } = (error ?? {}) as { data?: { reason?: unknown } | null }
  return typeof data?.reason === 'string' ? data.reason : undefined
}
