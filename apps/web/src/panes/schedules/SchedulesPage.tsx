import { asOf } from '@chirality/client/queries'
import { formatDuration } from '@chirality/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { projectName } from '../../app/project.ts'
import { useScheduleChanges } from '../../state/fleet/use-fleet.ts'
import type { ScheduleRun, ShownSchedule } from '../../state/server/answers.ts'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Dot, type DotTone } from '../../ui/marks/Dot.tsx'
import { Empty, Skeleton } from '../../ui/marks/Empty.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatCost, formatUsd, plural } from '../../ui/text/format.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { Commands } from '../loops/Commands.tsx'
import { ScheduleDialog } from './ScheduleDialog.tsx'
import { timeIn } from './schedule-form.logic.ts'
import '../page.css'
import './schedules.css'

/** A command in a terminal changes them, too, and no server tells of that. */
const ASK_MS = 10_000

/** Prompts and loops that the server runs at times: when, what became of them, and the way to change them. */
export default function SchedulesPage() {
  const client = useClient()
  const changes = useScheduleChanges()
  const { data, error } = useQuery(
    asOf(
      client.schedules.list.queryOptions(undefined, {
        refetchInterval: ASK_MS,
        placeholderData: keepPreviousData,
      }),
      changes,
    ),
  )
  const [edited, setEdited] = useState<ShownSchedule | 'new' | null>(null)
  return (
    <ScrollRegion className="page" label="Schedules">
      <div className="page__column">
        <header className="page__head">
          <h1>Schedules</h1>
          <span className="spacer" />
          <Button look="primary" onClick={() => setEdited('new')}>
            Add a schedule…
          </Button>
        </header>
        {error ? <p role="alert">{messageOf(error)}</p> : null}
        {!data && !error ? <Skeleton lines={4} label="Reading the schedules" /> : null}
        {data?.length === 0 ? (
          <Empty title="No schedules yet">
            A schedule runs a prompt or a task list at times, while this server runs. Each run leaves a
            receipt.
          </Empty>
        ) : null}
        <ul className="page__list">
          {data?.map(schedule => (
            <ScheduleItem key={schedule.id} schedule={schedule} onEdit={() => setEdited(schedule)} />
          ))}
        </ul>
      </div>
      {edited === null ? null : (
        <ScheduleDialog schedule={edited === 'new' ? undefined : edited} onClose={() => setEdited(null)} />
      )}
    </ScrollRegion>
  )
}

function ScheduleItem({ schedule, onEdit }: { schedule: ShownSchedule; onEdit(): void }) {
  const [isOpen, setOpen] = useState(false)
  const { name, project, words, when, last, isPaused } = schedule
  const [next] = schedule.upcoming
  const plan = isPaused ? 'paused' : next === undefined ? 'no time is left' : `next ${timeIn(next, when)}`
  return (
    <li className="schedules__item">
      <button type="button" className="page__line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Dot tone={toneOf(schedule)} />
        <span className="page__name">
          <b className="truncate">{name}</b>
          <span className="truncate">{`${projectName(project)} · ${words}`}</span>
        </span>
        <span className="schedules__facts">
          <span className="number">{plan}</span>
          <span className={`schedules__word schedules__word--${wordClass(last)}`}>{lastWords(schedule)}</span>
        </span>
      </button>
      {isOpen ? <Details schedule={schedule} onEdit={onEdit} /> : null}
    </li>
  )
}

function Details({ schedule, onEdit }: { schedule: ShownSchedule; onEdit(): void }) {
  const { id, what, when, upcoming, skipped } = schedule
  const client = useClient()
  const changes = useScheduleChanges()
  const { data } = useQuery(
    asOf(
      client.schedules.get.queryOptions({ id }, { placeholderData: keepPreviousData }),
      changes,
      schedule.last?.receipt?.endedAt,
    ),
  )
  return (
    <div className="page__card schedules__details">
      {what.kind === 'loop' ? (
        <>
          <p>
            Works through <code>{what.list}</code>, as it is at the time.
          </p>
          <Commands title="Its runs may use these commands and no others" commands={what.commands ?? []} />
        </>
      ) : (
        <ScrollRegion className="page__text page__text--short" label="Prompt">
          <pre>{what.prompt}</pre>
        </ScrollRegion>
      )}
      <dl className="schedules__rules">
        <dt>Next</dt>
        <dd className="number">
          {upcoming.length === 0 ? 'none' : upcoming.map(time => timeIn(time, when)).join(' · ')}
          {when.kind === 'cron' ? ` (${when.timeZone})` : ''}
        </dd>
        <dt>Rules</dt>
        <dd>{rulesOf(schedule)}</dd>
        {skipped === null ? null : (
          <>
            <dt>Left out</dt>
            <dd>{`${plural(skipped.times, 'time')} up to ${timeIn(skipped.due, when)}, ${SKIPPED[skipped.why]}`}</dd>
          </>
        )}
      </dl>
      <Actions schedule={schedule} onEdit={onEdit} />
      {data === undefined ? null : (
        <section aria-label={`Runs of ${schedule.name}`}>
          <h2>{data.runs.length === 0 ? 'No runs yet' : 'Last runs'}</h2>
          <ul className="page__list">
            {data.runs.slice(0, SHOWN_RUNS).map(run => (
              <Run key={run.run} run={run} schedule={schedule} />
            ))}
          </ul>
          {data.runs.length + data.earlier.runs > SHOWN_RUNS ? (
            <p className="schedules__hint">{earlierWords(data.runs, data.earlier)}</p>
          ) : null}
        </section>
      )}
    </div>
  )
}

/** One after the other: what is pressed twice happens once. */
function Actions({ schedule, onEdit }: { schedule: ShownSchedule; onEdit(): void }) {
  const { id, name, isPaused, isRunning, overlap } = schedule
  const client = useClient()
  const askAgain = useAskAgain()
  const [isBusy, setBusy] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const act = async (call: () => Promise<unknown>) => {
    setBusy(true)
    try {
      await call()
    } catch (error) {
      toasts.error(messageOf(error))
    }
    await askAgain(client.schedules.list.queryFilter())
    setBusy(false)
    setAsking(false)
  }
  if (isAsking)
    return (
      <p className="page__buttons">
        <span>{`Remove "${name}"? A run that has begun goes on, and its sessions stay.`}</span>
        <Button size="small" look="quiet" onClick={() => setAsking(false)}>
          Cancel
        </Button>
        <Button
          size="small"
          look="danger"
          disabled={isBusy}
          onClick={() => void act(() => client.schedules.remove.mutate({ id }))}
        >
          Remove
        </Button>
      </p>
    )
  const toggle = () =>
    isPaused ? client.schedules.resume.mutate({ id }) : client.schedules.pause.mutate({ id })
  return (
    <p className="page__buttons">
      <Button size="small" look="quiet" onClick={() => setAsking(true)}>
        Remove…
      </Button>
      <Button size="small" onClick={onEdit}>
        Edit…
      </Button>
      <Button size="small" disabled={isBusy} onClick={() => void act(toggle)}>
        {isPaused ? 'Resume' : 'Pause'}
      </Button>
      <Button
        size="small"
        disabled={isBusy || (isRunning && overlap === 'skip')}
        onClick={() => void act(() => client.schedules.run.mutate({ id }))}
      >
        {isRunning && overlap === 'skip' ? 'Runs now' : 'Run now'}
      </Button>
    </p>
  )
}

function Run({ run, schedule }: { run: ScheduleRun; schedule: ShownSchedule }) {
  const { receipt, due, why, sessionId, loopId, claimedAt } = run
  const facts = receipt && [
    formatDuration(Date.parse(receipt.endedAt) - Date.parse(claimedAt)),
    ...(receipt.costUsd === null ? [] : [formatCost(receipt.costUsd, receipt.costIsEstimate)]),
  ]
  return (
    <li>
      <p className="schedules__run">
        <Dot tone={runTone(run)} />
        <span className="number">{timeIn(due, schedule.when)}</span>
        <span className={`schedules__word schedules__word--${wordClass(run)}`}>{outcomeOf(run)}</span>
        <span className="number">{facts?.join(' · ')}</span>
        <span>{why === 'due' ? '' : REASONS[why]}</span>
        <span className="spacer" />
        {sessionId === undefined ? null : (
          <Link
            to="/s/$sessionId"
            params={{ sessionId }}
            aria-label={`Session of ${timeIn(due, schedule.when)}`}
          >
            Session
          </Link>
        )}
        {loopId === undefined ? null : (
          <Link to="/loops/$loopId" params={{ loopId }} aria-label={`Loop of ${timeIn(due, schedule.when)}`}>
            Loop
          </Link>
        )}
      </p>
      {receipt === null || receipt.words.trim() === '' ? null : (
        <p className="schedules__words">{receipt.words.trim().split('\n')[0]}</p>
      )}
    </li>
  )
}

const OUTCOMES: Record<NonNullable<ScheduleRun['receipt']>['outcome'], { word: string; tone: DotTone }> = {
  done: { word: 'done', tone: 'ok' },
  failed: { word: 'failed', tone: 'bad' },
  'needs-you': { word: 'needs you', tone: 'need' },
  limit: { word: 'reached a limit', tone: 'bad' },
  stopped: { word: 'stopped', tone: 'quiet' },
}
const REASONS = { missed: 'made up for', asked: 'run by hand' }
const SKIPPED = { missed: 'no server ran', running: 'the run before went on' }
const SHOWN_RUNS = 10

function outcomeOf({ receipt }: ScheduleRun): string {
  return receipt === null ? 'runs' : OUTCOMES[receipt.outcome].word
}

function runTone({ receipt }: ScheduleRun): DotTone {
  return receipt === null ? 'work' : OUTCOMES[receipt.outcome].tone
}

function wordClass(run: ScheduleRun | null): DotTone {
  return run === null ? 'quiet' : runTone(run)
}

function toneOf({ isRunning, last, isPaused }: ShownSchedule): DotTone {
  if (isRunning) return 'work'
  if (last === null) return 'quiet'
  const tone = runTone(last)
  // What was done before it was paused is no news.
  return isPaused && tone === 'ok' ? 'quiet' : tone
}

function lastWords({ isRunning, last, when }: ShownSchedule): string {
  if (last === null) return isRunning ? 'runs' : 'not run yet'
  return last.receipt === null ? 'runs' : `${outcomeOf(last)}, ${timeIn(last.due, when)}`
}

function rulesOf({
  what,
  missed,
  overlap,
  budgetUsd,
  maxMinutes,
  answerMinutes,
  keepRuns,
}: ShownSchedule): string {
  const isPrompt = what.kind === 'prompt'
  const minutes = maxMinutes ?? (isPrompt ? PROMPT_MINUTES : undefined)
  return [
    ...(isPrompt && what.persona ? [`persona ${what.persona}`] : []),
    ...(isPrompt && what.harness ? [what.harness] : []),
    ...(isPrompt && what.worktree ? ['in a worktree of its own'] : []),
    ...(budgetUsd === undefined ? [] : [`up to ${formatUsd(budgetUsd)} a run`]),
    ...(minutes === undefined ? [] : [`up to ${plural(minutes, 'minute')} a run`]),
    answerMinutes === 0 ? 'a question ends the run' : `a question waits ${plural(answerMinutes, 'minute')}`,
    missed === 'skip' ? 'missed times are left out' : 'missed times are made up for once',
    overlap === 'skip' ? 'one run at a time' : 'runs may overlap',
    ...(isPrompt && !what.worktree ? [] : [`worktrees of ${plural(keepRuns, 'run')} kept`]),
  ].join(' · ')
}

/** What the server allows a prompt that says nothing else. */
const PROMPT_MINUTES = 60

function earlierWords(runs: readonly ScheduleRun[], earlier: { runs: number; usd: number }): string {
  const older = runs.slice(SHOWN_RUNS)
  const count = older.length + earlier.runs
  const usd = older.reduce((sum, { receipt }) => sum + (receipt?.costUsd ?? 0), earlier.usd)
  return `and ${plural(count, 'run')} before${usd > 0 ? `, ${formatUsd(usd)}` : ''}`
}
