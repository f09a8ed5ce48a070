import { asOf } from '@chirality/client/queries'
import { formatDuration, VERDICT_WORDS } from '@chirality/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { projectName } from '../../app/project.ts'
import { useLoops } from '../../state/fleet/use-fleet.ts'
import type { LoopTask, ShownLoop } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Dot, type DotTone } from '../../ui/marks/Dot.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatCost, plural } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { LoopStream } from './LoopStream.tsx'
import {
  countsText,
  LimitFields,
  limitsFrom,
  listName,
  loopTone,
  stateWords,
  type TypedLimits,
  Used,
} from './loop-parts.tsx'
import { PutBack } from './PutBack.tsx'
import { useAction } from './use-action.ts'
import '../page.css'
import './loops.css'

/** One loop: its tasks as they fill in, what is used of its limits, and what a person can do. */
export default function LoopPage() {
  const { loopId = '' } = useParams({ strict: false })
  const client = useClient()
  // Asked again whenever something happened in it.
  const version = useLoops().find(loop => loop.loopId === loopId)?.version ?? 0
  const { data: loop, error } = useQuery(
    asOf(client.loops.get.queryOptions({ loopId }, { placeholderData: keepPreviousData }), version),
  )
  return (
    <ScrollRegion className="page" label="Loop">
      <div className="page__column">
        {loop ? (
          <Loop loop={loop} />
        ) : error ? (
          <Empty page title="This loop cannot be shown">
            <p>{messageOf(error)}</p>
            <Link to="/loops">All loops</Link>
          </Empty>
        ) : null}
      </div>
    </ScrollRegion>
  )
}

function Loop({ loop }: { loop: ShownLoop }) {
  const { loopId, runs, isOver, tasks, branch } = loop
  const client = useClient()
  const [isLimiting, setLimiting] = useState(false)
  const stop = useAction(() => client.loops.stop.mutate({ loopId }))
  const resume = useAction(() =>
    client.loops.resume.mutate({ loopId, ...(loop.mustSay ? { asFound: true } : {}) }),
  )
  // Of several at work one is shown whole, and the others when they are opened.
  const atWork = tasks.find(({ status }) => status === 'working')
  const asks = asksForCommands(loop)
  return (
    <>
      <header className="page__head">
        <Dot tone={loopTone(loop)} />
        <h1 className="truncate">{listName(loop)}</h1>
        <span className="loops__chip">{projectName(loop.project)}</span>
        {branch === null ? null : <code className="loops__chip truncate">{branch}</code>}
        <span className="spacer" />
        <Button onClick={() => setLimiting(true)}>Limits…</Button>
        {runs === 'no' ? (
          <Button look={isOver || asks ? 'plain' : 'primary'} disabled={resume.isBusy} onClick={resume.run}>
            {loop.mustSay ? 'Go on with what can be believed' : 'Resume'}
          </Button>
        ) : (
          <Button look="primary" disabled={stop.isBusy} onClick={stop.run}>
            {stop.isBusy ? 'Stopping…' : 'Stop'}
          </Button>
        )}
      </header>
      <p className="loops__state" role="status">
        {`${countsText(loop)}. `}
        {loop.waitsUntil === null ? sentence(stateWords(loop)) : <Countdown loop={loop} />}
      </p>
      {loop.warnings.map(warning => (
        <p key={warning} className="loops__problem" role="alert">
          {warning}
        </p>
      ))}
      {loop.listProblem === null ? null : <p className="loops__problem">{loop.listProblem}</p>}
      <Base loop={loop} />
      <Used loop={loop} />
      {loop.end === null || runs !== 'no' ? null : <MorningCard loop={loop} />}
      <ol className="page__list">
        {tasks.map(task => (
          <TaskRow key={task.id} loop={loop} task={task} first={task === atWork} />
        ))}
      </ol>
      <p className="loops__hint">
        <Link to="/loops">All loops</Link>
      </p>
      {isLimiting ? <LimitsDialog loop={loop} onClose={() => setLimiting(false)} /> : null}
    </>
  )
}

/** Its filled button is then the one that allows them. */
function asksForCommands({ tasks }: ShownLoop): boolean {
  return tasks.some(({ commands = [] }) => commands.length > 0)
}

/** Checks that failed before any task. Green ones are not listed. */
function Base({ loop: { base } }: { loop: ShownLoop }) {
  const { running, checks } = base
  const other = checks.filter(({ state }) => state !== 'green')
  return (
    <>
      {running === null ? null : (
        <p className="loops__hint">
          Before any task: <code>{running.command}</code> runs.
        </p>
      )}
      {other.map(({ command, state }) => (
        <p key={command} className="loops__hint">
          {`Before any task this was ${state}: `}
          <code>{command}</code>
        </p>
      ))}
    </>
  )
}

/** Told once by screen readers: what counts down is not announced each second. */
function Countdown({ loop }: { loop: ShownLoop }) {
  return <span aria-live="off">{sentence(stateWords(loop, useNow()))}</span>
}

/** Results to review first, found without a model, and the button that merges them. */
function MorningCard({ loop }: { loop: ShownLoop }) {
  const client = useClient()
  const flagged = loop.tasks.filter(({ status, flags }) => status === 'merged' && flags.length > 0)
  const ready = loop.tasks.filter(({ status, accepted }) => status === 'merged' && accepted === null)
  const doubted = ready.filter(({ flags }) => flags.length > 0).length
  const accept = useAction(
    () => client.loops.accept.mutate({ loopId: loop.loopId }),
    accepted => `Merged into ${accepted.into}.`,
  )
  return (
    <section className="page__card" aria-label="What became of it">
      <h2>{flagged.length === 0 ? 'What became of it' : 'Look at this first'}</h2>
      <ul className="page__list">
        {flagged.map(({ id, title, flags }) => (
          <li key={id}>
            <b>{title}</b>
            <Flags flags={flags} />
          </li>
        ))}
        {flagged.length === 0 ? <li>Nothing to look at was found.</li> : null}
      </ul>
      <div className="loops__foot">
        <span>{provedWords(loop)}</span>
        <span className="spacer" />
        {ready.length === 0 || loop.baseBranch === null ? null : (
          <Button
            look={asksForCommands(loop) || doubted > 0 ? 'plain' : 'primary'}
            disabled={accept.isBusy}
            onClick={accept.run}
          >
            {`Accept ${ready.length} into ${loop.baseBranch}${doubted > 0 ? `, ${doubted} to look at` : ''}`}
          </Button>
        )}
      </div>
    </section>
  )
}

function Flags({ flags }: Pick<LoopTask, 'flags'>) {
  return (
    <ul className="loops__flags">
      {flags.map(({ kind, words, files }) => (
        <li key={`${kind} ${words}`}>
          {withCode(words)} <code>{files.join(', ')}</code>
        </li>
      ))}
    </ul>
  )
}

/** Commands stand between backticks in what is told of them. */
function withCode(words: string): ReactNode[] {
  return words.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))
}

/** Checks that nobody wrote prove nothing. */
function provedWords({ counts: { noCheck } }: ShownLoop): string {
  const by = 'The checks of the list were run by Chirality, not by the agent.'
  return noCheck === 0 ? by : `${by} No check says that ${plural(noCheck, 'task')} did what was asked.`
}

const TONES: Record<LoopTask['status'], DotTone> = {
  open: 'quiet',
  ticked: 'seen',
  working: 'work',
  merged: 'ok',
  parked: 'need',
  failed: 'bad',
  reverted: 'quiet',
  claimed: 'bad',
}
const WORDS: Record<LoopTask['status'], string> = {
  open: 'to do',
  ticked: 'done before',
  working: 'at work',
  merged: 'proved',
  parked: 'needs you',
  failed: 'failed',
  reverted: 'reverted',
  claimed: 'ticked by somebody, not proved',
}
const STAGES: Record<NonNullable<LoopTask['stage']>, string> = {
  'set-up': 'setting up',
  turn: 'agent at work',
  checks: 'checks run',
  merging: 'merging',
  rest: 'next turn',
}

function TaskRow({ loop, task, first }: { loop: ShownLoop; task: LoopTask; first: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const { status, stage, diff, spent, iterations, title, accepted, inList, handed } = task
  const hasBegun = task.sessionId !== null
  const known = task.verdict === null || status !== 'merged' ? WORDS[status] : VERDICT_WORDS[task.verdict]
  const word = accepted ? `in ${accepted.into}` : stage ? STAGES[stage] : known
  const facts = [
    ...handed.slice(-1).map(({ to }) => `handed to ${to}`),
    ...(diff && diff.files > 0 ? [`+${diff.insertions} −${diff.deletions}`] : []),
    ...(iterations > 0 ? [plural(iterations, 'turn')] : []),
    ...(spent?.usd ? [formatCost(spent.usd, spent.isEstimate)] : []),
    ...(task.machine === undefined ? [] : [`on ${task.machine}`]),
  ]
  return (
    <li className="loops__task">
      <button
        type="button"
        className="page__line loops__task-line"
        aria-expanded={isOpen}
        disabled={!hasBegun}
        onClick={() => setOpen(!isOpen)}
      >
        <Dot tone={task.verdict === 'look' || task.verdict === 'no-check' ? 'need' : TONES[status]} />
        <span className="loops__title">{title}</span>
        <span className="spacer" />
        <span className={`loops__word loops__word--${status}`}>
          {inList ? word : `${word}, not in the list now`}
        </span>
        <span className="loops__facts number">{facts.join(' · ')}</span>
      </button>
      {status === 'working' && task.waits !== undefined ? <p className="loops__hint">{task.waits}</p> : null}
      {status === 'working' && task.waits === undefined ? (
        <LoopStream loopId={loop.loopId} task={task} first={first} />
      ) : null}
      {status === 'parked' || status === 'failed' || status === 'reverted' ? (
        <PutBack loopId={loop.loopId} task={task} />
      ) : null}
      {isOpen && hasBegun ? <TaskDetails loop={loop} task={task} /> : null}
    </li>
  )
}

/** A text that is shown when its title is opened. */
function Folded({ title, text }: { title: string; text: string | null }) {
  if (text === null) return null
  return (
    <details>
      <summary>{title}</summary>
      <ScrollRegion className="page__text" label={title}>
        <pre>{text}</pre>
      </ScrollRegion>
    </details>
  )
}

function TaskDetails({ loop, task }: { loop: ShownLoop; task: LoopTask }) {
  const client = useClient()
  const { loopId, version, runs } = loop
  const { data } = useQuery(
    asOf(
      client.loops.task.queryOptions({ loopId, task: task.id }, { placeholderData: keepPreviousData }),
      version,
    ),
  )
  const revert = useAction(() => client.loops.revert.mutate({ loopId, task: task.id }))
  const accept = useAction(
    () => client.loops.accept.mutate({ loopId, task: task.id }),
    accepted => {
      const others = accepted.tasks.length - 1
      return `Merged into ${accepted.into}${others > 0 ? `, with ${plural(others, 'task')} before it` : ''}.`
    },
  )
  if (!data) return null
  const canTake = task.status === 'merged' && task.accepted === null && runs === 'no'
  return (
    <div className="page__card loops__details">
      {task.flags.length === 0 ? null : <Flags flags={task.flags} />}
      <ul className="page__list">
        {data.checks.map(({ command, exitCode, stopped, ms, tail }) => (
          <li key={command}>
            <p>
              <span className={exitCode === 0 ? 'loops__good' : 'loops__bad'}>
                {exitCode === 0 ? '✓' : '✗'}
              </span>{' '}
              <code>{command}</code>{' '}
              <span className="number">{stopped ?? `exit code ${exitCode}, ${formatDuration(ms)}`}</span>
            </p>
            {tail.trim() === '' ? null : (
              <ScrollRegion className="page__text" label={`Output of ${command}`}>
                <pre>{tail}</pre>
              </ScrollRegion>
            )}
          </li>
        ))}
      </ul>
      {task.handed.map(({ from, to, at, why }) => (
        <p key={at}>{`Handed from ${from} to ${to}. ${why}`}</p>
      ))}
      {data.failure === null ? null : <p className="loops__problem">{data.failure.split('\n')[0]}</p>}
      <Folded title="What the agent was told" text={data.prompt} />
      <Folded title="Receipt" text={data.receiptText} />
      <div className="page__buttons">
        {task.sessionId ? (
          <Link
            className="button button--plain button--small"
            to="/s/$sessionId"
            params={{ sessionId: task.sessionId }}
          >
            Open its session
          </Link>
        ) : null}
        {canTake ? (
          <>
            <Button size="small" disabled={revert.isBusy} onClick={revert.run}>
              Revert
            </Button>
            {loop.baseBranch === null ? null : (
              <Button size="small" disabled={accept.isBusy} onClick={accept.run}>
                {`Accept up to here into ${loop.baseBranch}`}
              </Button>
            )}
          </>
        ) : null}
      </div>
    </div>
  )
}

function LimitsDialog({ loop, onClose }: { loop: ShownLoop; onClose(): void }) {
  const client = useClient()
  const [typed, setTyped] = useState<TypedLimits>({})
  const [problem, setProblem] = useState<string | null>(null)
  const save = async () => {
    const limits = limitsFrom(typed)
    if (typeof limits === 'string') return setProblem(limits)
    try {
      await client.loops.resume.mutate({ loopId: loop.loopId, limits })
      onClose()
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <Dialog title="Limits of this loop" onClose={onClose}>
      <form
        className="page__form"
        onSubmit={event => {
          event.preventDefault()
          void save()
        }}
      >
        <LimitFields typed={typed} now={loop.limits} onChange={setTyped} />
        {problem === null ? null : (
          <p className="loops__problem" role="alert">
            {problem}
          </p>
        )}
        <div className="page__buttons">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit">
            {loop.runs === 'no' ? 'Save and resume' : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function sentence(words: string): string {
  const text = words.charAt(0).toUpperCase() + words.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}
