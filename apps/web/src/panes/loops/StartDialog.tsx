import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { LoopPlan } from '../../state/server/answers.ts'
import { useClient, useProjects } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { plural } from '../../ui/text/format.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { Commands } from './Commands.tsx'
import { LimitFields, limitsFrom, type TypedLimits } from './loop-parts.tsx'

/** Starts a loop: what it will do and run is seen before, and what keeps it from starting is said before. */
export function StartDialog({ onClose }: { onClose(): void }) {
  const client = useClient()
  const navigate = useNavigate()
  const projects = useProjects()
  const there = projects.filter(({ missing }) => !missing)
  const [chosenProject, setProject] = useState<string | null>(null)
  const project = chosenProject ?? there[0]?.root ?? ''
  const files = useQuery(client.loops.files.queryOptions({ project }, { enabled: project !== '' }))
  const [chosenFile, setFile] = useState<string | null>(null)
  const found = files.data ?? []
  const usable = found.find(({ problem, open }) => problem === null && open > 0)
  const list = (found.find(({ path }) => path === chosenFile) ?? usable ?? found[0])?.path
  const plan = useQuery(
    client.loops.plan.queryOptions(
      { project, list: list ?? '' },
      { enabled: list !== undefined, staleTime: 0, refetchInterval: PLAN_MS, retry: false },
    ),
  )
  const [typed, setTyped] = useState<TypedLimits>({})
  const [allowDirty, setAllowDirty] = useState(false)
  /** The commands that were allowed: others are asked about again. */
  const [allowed, setAllowed] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const { data } = plan
  const mayRun = data !== undefined && (data.isAllowed || allowed === data.fingerprint)
  const inTheWay = data?.problems.filter(({ kind }) => kind !== 'dirty' || !allowDirty) ?? []
  const start = async () => {
    const limits = limitsFrom(typed)
    if (typeof limits === 'string') return setProblem(limits)
    if (list === undefined || data === undefined) return
    setBusy(true)
    try {
      const commands = data.fingerprint
      const { loopId } = await client.loops.start.mutate({ project, list, limits, allowDirty, commands })
      onClose()
      void navigate({ to: '/loops/$loopId', params: { loopId } })
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
      void plan.refetch()
    }
  }
  return (
    <Dialog title="Start a loop" onClose={onClose}>
      <form
        className="page__form"
        onSubmit={event => {
          event.preventDefault()
          void start()
        }}
      >
        <SelectField
          label="Project"
          value={project}
          options={there.map(({ root, name }) => ({ value: root, label: name }))}
          onChange={root => {
            setProject(root)
            setFile(null)
            setProblem(null)
          }}
        />
        {list === undefined ? (
          <p className="loops__hint">
            {files.isPending && project !== ''
              ? 'Looking for task lists…'
              : 'This project has no Markdown file with "- [ ]" tasks. Write one, for example TASKS.md.'}
          </p>
        ) : (
          <SelectField
            label="Task list"
            value={list}
            options={found.map(({ path, open, problem: why }) => ({
              value: path,
              label: why === null ? `${path} (${open} to do)` : `${path} (cannot be used)`,
            }))}
            onChange={path => {
              setFile(path)
              setProblem(null)
            }}
          />
        )}
        {plan.error ? <p className="loops__problem">{messageOf(plan.error)}</p> : null}
        {data === undefined ? null : <Plan plan={data} />}
        {data === undefined || data.isAllowed ? null : (
          <label className="page__check">
            <input
              type="checkbox"
              checked={allowed === data.fingerprint}
              onChange={event => setAllowed(event.target.checked ? data.fingerprint : null)}
            />
            Run these commands on this machine without asking. A task with another one waits for you.
          </label>
        )}
        <LimitFields typed={typed} {...(data ? { now: data.limits } : {})} onChange={setTyped} />
        {data?.problems.some(({ kind }) => kind === 'dirty') ? (
          <label className="page__check">
            <input
              type="checkbox"
              checked={allowDirty}
              onChange={event => setAllowDirty(event.target.checked)}
            />
            Start although files are not committed
          </label>
        ) : null}
        {problem === null ? null : (
          <p className="loops__problem" role="alert">
            {problem}
          </p>
        )}
        <div className="page__buttons">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={isBusy || !mayRun || inTheWay.length > 0}>
            Start
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

const PLAN_MS = 3_000

function Plan({ plan }: { plan: LoopPlan }) {
  const { problems, tasks, done, setup, checks, branch, notices, openLoop } = plan
  const titles = new Map(tasks.map(({ id, title }) => [id, title]))
  return (
    <div className="loops__plan">
      {problems.map(({ kind, words }) => (
        <p key={kind} className="loops__problem" role="status">
          {`${words} `}
          {kind === 'running' && openLoop !== null ? (
            <Link to="/loops/$loopId" params={{ loopId: openLoop }}>
              Go on with it
            </Link>
          ) : null}
        </p>
      ))}
      {tasks.length === 0 ? null : (
        <section aria-label="Tasks">
          <h3>{`${plural(tasks.length, 'task')}${done > 0 ? `, ${done} ticked already` : ''}`}</h3>
          <ScrollRegion className="page__text page__text--short loops__planned" label="Tasks to do">
            <ol>
              {tasks.map(task => (
                <li key={task.id}>
                  {task.title}
                  <span className="loops__hint">{factsOf(task, titles)}</span>
                </li>
              ))}
            </ol>
          </ScrollRegion>
          <p className="loops__hint">
            {`Each in a session, a worktree and on a branch of its own, from the last commit${branch ? ` of ${branch}` : ''}.`}
          </p>
        </section>
      )}
      <Commands title="Set-up of each worktree" commands={setup} />
      <Commands title="Checks" commands={checks} />
      {tasks.length > 0 && checks.length === 0 ? (
        <p className="loops__hint">The list names no checks: a changed file is all that proves a task.</p>
      ) : null}
      {notices.map(notice => (
        <p key={notice} className="loops__hint">
          {notice}
        </p>
      ))}
    </div>
  )
}

function factsOf(task: LoopPlan['tasks'][number], titles: ReadonlyMap<string, string>): string {
  const { dependsOn, expect, checks, persona, harness, model } = task
  const facts = [
    ...[persona, harness, model].flatMap(one => one ?? []),
    ...(expect === 'none' ? ['changes no file'] : []),
    ...(checks > 0 ? [plural(checks, 'check')] : []),
    ...(dependsOn.length > 0 ? [`after ${dependsOn.map(id => titles.get(id) ?? id).join(', ')}`] : []),
  ]
  return facts.length > 0 ? ` ${facts.join(' · ')}` : ''
}
