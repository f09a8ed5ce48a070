import type { StatusEvent } from '@chirality/core'
import { Dot } from '../../ui/marks/Dot.tsx'

/** One line that is always as high, so that nothing moves when it changes. */
export function StatusLine({ status }: { status: StatusEvent | null }) {
  return (
    <p className={status?.level === 'warn' ? 'status-line status-line--warn' : 'status-line'} role="status">
      <Dot tone="work" />
      <span className="truncate">
        {status && status.status !== 'tool_progress' ? status.message || 'Working' : 'Working'}
      </span>
    </p>
  )
}
