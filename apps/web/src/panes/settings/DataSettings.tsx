import type { CallOutputs } from '@chirality/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { DataUse } from '../../state/server/answers.ts'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { type Segment, Segmented } from '../../ui/controls/Segmented.tsx'
import { Empty, Skeleton } from '../../ui/marks/Empty.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatBytes, plural } from '../../ui/text/format.ts'
import { SettingsHead } from './SettingsHead.tsx'

type RawLogRule = DataUse['rule']
type PrunePlan = CallOutputs['data']['plan']

/** Disk use of Chirality, the lifetime of raw logs, and the button that deletes them now. */
export function DataSettings() {
  const client = useClient()
  const { data, error } = useQuery(client.data.use.queryOptions(undefined, { staleTime: 0, retry: false }))
  return (
    <>
      <SettingsHead
        title="Data"
        about="What Chirality keeps on this machine. None of it leaves the machine."
      />
      {error ? <p role="alert">{messageOf(error)}</p> : null}
      {!data && !error ? <Skeleton lines={6} label="Measuring the disk use" /> : null}
      {data ? (
        <>
          <RawLogSettings saved={data.rule} />
          <DiskUse projects={data.projects} />
        </>
      ) : null}
    </>
  )
}

type Keep = RawLogRule['keep']
const KEEPS: readonly Segment<Keep>[] = [
  { value: 'forever', label: 'Keep all' },
  { value: 'days', label: 'Some days' },
  { value: 'size', label: 'Up to a size' },
]
const GIGABYTE = 2 ** 30
const NORMAL = { days: '30', size: '5' }

/** Null where the field has no usable number. */
function ruleOf(keep: Keep, number: string): RawLogRule | null {
  if (keep === 'forever') return { keep }
  const value = Number(number)
  if (!(value > 0)) return null
  if (keep === 'size') return { keep, bytes: Math.max(1, Math.round(value * GIGABYTE)) }
  return Number.isInteger(value) ? { keep, days: value } : null
}

function numberOf(rule: RawLogRule): string {
  if (rule.keep === 'days') return String(rule.days)
  return rule.keep === 'size' ? String(Math.round((rule.bytes / GIGABYTE) * 1000) / 1000) : ''
}

function RawLogSettings({ saved }: { saved: RawLogRule }) {
  const client = useClient()
  const askAgain = useAskAgain()
  const [keep, setKeep] = useState<Keep>(saved.keep)
  const [number, setNumber] = useState(numberOf(saved))
  const [plan, setPlan] = useState<PrunePlan | null>(null)
  const [isBusy, setBusy] = useState(false)
  const rule = ruleOf(keep, number)
  const isSaved = JSON.stringify(rule) === JSON.stringify(saved)
  const act = async (work: () => Promise<void>) => {
    setBusy(true)
    await work().catch((error: unknown) => toasts.error(messageOf(error)))
    setBusy(false)
  }
  const changed = () => askAgain(client.data.use.queryFilter())
  const save = async (next: RawLogRule) => {
    await client.data.setRule.mutate({ rule: next })
    toasts.info('Saved')
    await changed()
  }
  const prune = async (next: RawLogRule) => {
    const { logs, bytes, problems } = await client.data.prune.mutate({ rule: next })
    setPlan(null)
    toasts.info(`Deleted ${plural(logs, 'raw log')}, ${formatBytes(bytes)}`)
    for (const { message } of problems) toasts.error(message)
    await changed()
  }
  return (
    <section aria-label="Raw logs">
      <h2 className="settings__group">Raw logs</h2>
      <form
        className="settings__card settings__card--padded data-rule"
        aria-label="How long raw logs are kept"
        onSubmit={event => {
          event.preventDefault()
          if (rule) void act(() => save(rule))
        }}
      >
        <p>
          Every line that an agent printed. The Raw tab of a session shows them; the conversation, search,
          export and going on with a session do not need them. The rule is applied every hour to the projects
          that the server has open then; Prune now applies it to all projects.
        </p>
        <div className="data-rule__choice">
          <Segmented
            label="How long"
            value={keep}
            segments={KEEPS}
            onChange={next => {
              setKeep(next)
              setNumber(next === 'forever' ? '' : next === saved.keep ? numberOf(saved) : NORMAL[next])
              setPlan(null)
            }}
          />
          {keep === 'forever' ? null : (
            <Field label={keep === 'days' ? 'Days' : 'Gigabytes, projects together'}>
              {id => (
                <input
                  id={id}
                  className="input data-rule__number"
                  inputMode="decimal"
                  maxLength={8}
                  value={number}
                  aria-invalid={rule === null}
                  onChange={event => {
                    setNumber(event.target.value.trim())
                    setPlan(null)
                  }}
                />
              )}
            </Field>
          )}
        </div>
        {rule === null ? (
          <p role="alert">
            {keep === 'days' ? 'Give a whole number of days.' : 'Give a number of gigabytes above 0.'}
          </p>
        ) : null}
        <p className="tool-server__actions">
          <Button
            disabled={isBusy || rule === null || rule.keep === 'forever'}
            onClick={() => rule && void act(async () => setPlan(await client.data.plan.query({ rule })))}
          >
            Prune now…
          </Button>
          <Button type="submit" look="primary" disabled={isBusy || rule === null || isSaved}>
            Save
          </Button>
        </p>
        {plan && rule ? (
          <PlannedPrune
            {...{ plan, isBusy }}
            onPrune={() => void act(() => prune(rule))}
            onCancel={() => setPlan(null)}
          />
        ) : null}
      </form>
    </section>
  )
}

function PlannedPrune(props: { plan: PrunePlan; isBusy: boolean; onPrune(): void; onCancel(): void }) {
  const { plan, isBusy, onPrune, onCancel } = props
  const { logs, bytes, projects, inUse, problems, from, to } = plan
  return (
    <fieldset className="tool-server__ask" aria-label="What would be deleted">
      {logs === 0 ? (
        <p role="status">No raw log is past this limit.</p>
      ) : (
        <p role="status">
          {`${plural(logs, 'raw log')}, ${formatBytes(bytes)}, last written ${between(from, to)}, would be deleted for good. Nothing else is.`}
        </p>
      )}
      {projects.length > 1
        ? projects.map(one => (
            <p key={one.projectRoot}>
              {`${one.projectRoot}: ${plural(one.logs, 'log')}, ${formatBytes(one.bytes)}`}
            </p>
          ))
        : null}
      {inUse.logs > 0 ? (
        <p>{`${inUse.logs} more past the limit stay: a running agent or an unfinished turn needs them.`}</p>
      ) : null}
      {problems.map(({ projectRoot, message }) => (
        <p key={projectRoot} className="tool-server__bad">
          {message}
        </p>
      ))}
      <p className="tool-server__actions">
        <Button size="small" onClick={onCancel}>
          {logs === 0 ? 'Close' : 'Keep them'}
        </Button>
        {logs > 0 ? (
          <Button size="small" look="danger" disabled={isBusy} onClick={onPrune}>
            {`Delete ${plural(logs, 'raw log')}`}
          </Button>
        ) : null}
      </p>
    </fieldset>
  )
}

function between(from: string | null, to: string | null): string {
  const [first, last] = [from, to].map(at => (at === null ? '' : new Date(at).toLocaleDateString()))
  return first === last ? `on ${first}` : `between ${first} and ${last}`
}

type Project = DataUse['projects'][number]
const KINDS: readonly { kind: keyof Project['bytes']; label: string }[] = [
  { kind: 'events', label: 'event logs' },
  { kind: 'rawLogs', label: 'raw logs' },
  { kind: 'turnTrees', label: 'turn trees' },
  { kind: 'worktrees', label: 'worktrees' },
  { kind: 'other', label: 'other' },
]

function DiskUse({ projects }: { projects: readonly Project[] }) {
  if (projects.length === 0) return <Empty title="No project yet">Add a folder on the start page.</Empty>
  const all = KINDS.map(({ kind }) => projects.reduce((sum, { bytes }) => sum + bytes[kind], 0))
  const rows = [...projects].sort((a, b) => total(b) - total(a))
  return (
    <section aria-label="Disk use">
      <h2 className="settings__group">
        Disk use <span className="number">{formatBytes(all.reduce((sum, bytes) => sum + bytes, 0))}</span>
      </h2>
      <ul className="settings__card">
        {projects.length > 1 ? (
          <li className="settings__row">
            <span className="settings__what settings__what--fill">
              <b>All projects</b>
              <span>{KINDS.map(({ label }, i) => `${label} ${formatBytes(all[i] ?? 0)}`).join(' · ')}</span>
            </span>
          </li>
        ) : null}
        {rows.map(project => (
          <li key={project.projectRoot} className="settings__row">
            <span className="settings__what settings__what--fill">
              <b>{project.name}</b>
              <span>{project.projectRoot}</span>
              <span>
                {KINDS.map(({ kind, label }) => `${label} ${formatBytes(project.bytes[kind])}`).join(' · ')}
              </span>
            </span>
            <span className="number">{formatBytes(total(project))}</span>
          </li>
        ))}
      </ul>
      <p className="data-rule__note">
        Event logs are the sessions themselves: deleting a session deletes them. Turn trees are what undo and
        the diffs of turns read; they are trimmed by themselves. Worktrees go with their sessions.
      </p>
    </section>
  )
}

function total({ bytes }: Project): number {
  return KINDS.reduce((sum, { kind }) => sum + bytes[kind], 0)
}
