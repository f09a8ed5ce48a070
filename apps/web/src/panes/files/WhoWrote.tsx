import type { CallInputs, CallOutputs } from '@chirality/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useHarnessLabel } from '../../app/labels.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { filePlace } from '../../state/server/work-place.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatCost } from '../../ui/text/format.ts'
import './who-wrote.css'

type SideOfChanges = NonNullable<CallInputs['files']['blame']['of']>
type Blame = NonNullable<CallOutputs['files']['blame']>

interface WhoWroteProps {
  status: SessionStatus
  path: string
  line: number
  /** Default: the file as it is now. */
  of?: SideOfChanges
}

/** Which turn wrote a line of a file, for which prompt and money. */
export default function WhoWrote({ status, path, line, of }: WhoWroteProps) {
  const client = useClient()
  const { data, error, isPending } = useQuery(
    client.files.blame.queryOptions({ ...filePlace(status), path, of }, { retry: false }),
  )
  const found = data?.lines.find(({ line: from, count }) => line >= from && line < from + count)
  return (
    <p className="who-wrote" role="status">
      <span className="who-wrote__line number">{`${of?.side === 'old' ? 'Old line' : 'Line'} ${line}`}</span>
      <span className="who-wrote__words">
        {isPending ? 'Looking up who wrote it…' : null}
        {error ? messageOf(error) : null}
        {data === null ? 'There is no git here, so nobody knows who wrote it.' : null}
        {data && !found ? 'Not in the file any more.' : null}
        {data && found ? <Origin origin={found.origin} turns={data.turns} here={status.sessionId} /> : null}
      </span>
    </p>
  )
}

type Line = Blame['lines'][number]['origin']

function Origin({ origin, turns, here }: { origin: Line; turns: Blame['turns']; here: string }) {
  if (origin.kind === 'between')
    return 'Not in a turn: written by a person or another program, and not committed.'
  const { commit } = origin
  const through = commit && `${commit.id.slice(0, 9)} ${commit.author}: ${commit.subject}`
  if (origin.kind === 'commit') return `Commit ${through}`
  return (
    <>
      {origin.turns.map((id, index) => (
        <span key={id}>
          {index > 0 ? ', or ' : null}
          <Turn turn={turns[id]} here={here} />
        </span>
      ))}
      {origin.isSure ? null : ', or after it: its end was not recorded'}
      {through ? ` · commit ${through}` : null}
    </>
  )
}

function Turn({ turn, here }: { turn: Blame['turns'][string] | undefined; here: string }) {
  const label = useHarnessLabel(turn?.harness ?? null)
  if (!turn || turn.isDeleted) return 'a turn of a deleted session'
  const { harness, model, prompt, costUsd, costIsEstimate, sessionId, turnId, title } = turn
  const who = [harness === null ? 'An agent' : label, model].filter(Boolean).join(' · ')
  const cost = costUsd === null ? '' : ` · ${formatCost(costUsd, costIsEstimate)} for the turn`
  return (
    <>
      {`${who}${cost} · `}
      <Link to="/s/$sessionId/t/$turnId" params={{ sessionId, turnId }}>
        {`“${shortened(prompt ?? '')}”`}
      </Link>
      {sessionId === here || title === null ? null : ` in ${title}`}
    </>
  )
}

const MAX_CHARS = 160

function shortened(prompt: string): string {
  const words = prompt.replace(/\s+/g, ' ').trim()
  return words.length > MAX_CHARS ? `${words.slice(0, MAX_CHARS)}…` : words
}
