import type { UsageReport } from '../../state/server/answers.ts'
import { Meter } from '../../ui/marks/Meter.tsx'
import { formatAge } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'
import './plan-windows.css'

interface PlanWindowsProps extends Pick<UsageReport, 'plans'> {
  agentName(id: string): string
}

/** How much of each plan is used, and when its window begins again, as its agent last said. */
export function PlanWindows({ plans, agentName }: PlanWindowsProps) {
  const now = useNow()
  return (
    <ul className="plans">
      {plans.flatMap(({ harness, at, windows }) =>
        windows.map(({ name, usedPercent, resetsAt }) => {
          const isOver = resetsAt !== undefined && Date.parse(resetsAt) <= now
          const used = isOver ? undefined : usedPercent
          return (
            <li key={`${harness} ${name}`} className="plans__window">
              <b>{agentName(harness)}</b>
              <span>{name}</span>
              <span className="spacer" />
              <span className="number">{used === undefined ? '' : `${Math.round(used)} %`}</span>
              {used === undefined ? null : (
                <Meter label={`${agentName(harness)}, ${name}`} value={used} max={100} />
              )}
              <span className="plans__note">
                {isOver
                  ? 'began again since the agent last said'
                  : `${resetsAt === undefined ? 'reset time not known' : `resets ${resetText(resetsAt, now)}`} · said ${formatAge(at, now)}`}
              </span>
            </li>
          )
        }),
      )}
    </ul>
  )
}

const MINUTE_MS = 60_000

/** `in 48 min`, `in 1 h 48 min`, `in 4 d 6 h`. */
function resetText(at: string, now: number): string {
  const minutes = Math.max(1, Math.ceil((Date.parse(at) - now) / MINUTE_MS))
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60)]
  if (days > 365) return `on ${at.slice(0, 10)}`
  if (days > 0) return `in ${days} d ${hours} h`
  return hours > 0 ? `in ${hours} h ${minutes % 60} min` : `in ${minutes} min`
}
