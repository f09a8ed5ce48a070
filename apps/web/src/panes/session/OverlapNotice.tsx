import type { CallOutputs } from '@chirality/client'
import { asOf } from '@chirality/client/queries'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useFleet } from '../../state/fleet/use-fleet.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { plural } from '../../ui/text/format.ts'
import './overlap-notice.css'

type Overlaps = CallOutputs['worktrees']['overlaps']

/** Other sessions that changed the same files, with the lines. Asked after a turn of any session of the project. */
export default function OverlapNotice({ status }: { status: SessionStatus }) {
  const { sessionId, projectRoot } = status
  const client = useClient()
  const others = useFleet().filter(
    other =>
      !other.machine &&
      other.projectRoot === projectRoot &&
      other.sessionId !== sessionId &&
      other.shelf !== 'archived',
  )
  const turns = [status, ...others].map(({ turnId, lastSeq, sessionId: id }) => `${id} ${turnId ?? lastSeq}`)
  const { data = [] } = useQuery(
    asOf(
      client.worktrees.overlaps.queryOptions(
        { sessionId },
        { enabled: others.length > 0, placeholderData: before => before, gcTime: 0, retry: false },
      ),
      turns.sort().join(' '),
    ),
  )
  if (data.length === 0 || others.length === 0) return null
  const conflicts = data.flatMap(({ files }) => files.filter(file => file.conflicts)).length
  const files = new Set(data.flatMap(overlap => overlap.files.map(({ path }) => path))).size
  return (
    <details className="overlaps">
      <summary>
        {`${plural(data.length, 'other session')} changed ${plural(files, 'file')} of this one`}
        {conflicts > 0 ? <span className="overlaps__conflict">, and would not merge</span> : null}
      </summary>
      <ul>
        {data.map(overlap => (
          <li key={overlap.sessionId}>
            <Link to="/s/$sessionId" params={{ sessionId: overlap.sessionId }}>
              {overlap.title ?? 'Untitled session'}
            </Link>
            {overlap.branch === null ? null : <code>{overlap.branch}</code>}
            <ul>
              {overlap.files.slice(0, MAX_FILES).map(file => (
                <li key={file.path}>{wordsOf(file)}</li>
              ))}
              {overlap.files.length > MAX_FILES ? (
                <li>{`and ${plural(overlap.files.length - MAX_FILES, 'more file')}`}</li>
              ) : null}
            </ul>
          </li>
        ))}
      </ul>
    </details>
  )
}

const MAX_FILES = 8
const MAX_RANGES = 6

function wordsOf({ path, conflicts, own, theirs }: Overlaps[number]['files'][number]): string {
  const lines = own.length + theirs.length === 0 ? '' : `: here ${ranges(own)}, there ${ranges(theirs)}`
  return `${path}${lines}${conflicts ? ' · would not merge' : ''}`
}

function ranges(lines: readonly (readonly number[])[]): string {
  if (lines.length === 0) return 'nothing that is left'
  const words = lines.slice(0, MAX_RANGES).map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`))
  return `${lines.length > 1 || lines[0]?.[0] !== lines[0]?.[1] ? 'lines' : 'line'} ${words.join(', ')}${lines.length > MAX_RANGES ? ' …' : ''}`
}
