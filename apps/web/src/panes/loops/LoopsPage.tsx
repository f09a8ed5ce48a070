import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { projectName } from '../../app/project.ts'
import { useLoops } from '../../state/fleet/use-fleet.ts'
import type { LoopSummary } from '../../state/server/loops-api.ts'
import { useApi } from '../../state/server/use-api.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatCost } from '../../ui/text/format.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import {
  countsText,
  LimitFields,
  limitsFrom,
  listName,
  loopTone,
  stateWords,
  type TypedLimits,
} from './loop-parts.tsx'
import './loops.css'

/** All loops, newest first, and the way to start one. */
export default function LoopsPage() {
  const loops = useLoops()
  const [isStarting, setStarting] = useState(false)
  return (
    <ScrollRegion className="loops" label="Loops">
      <div className="loops__page">
        <header className="loops__head">
          <h1>Loops</h1>
          <span className="spacer" />
          <Button look="primary" onClick={() => setStarting(true)}>
            Start a loop…
          </Button>
        </header>
        {loops.length === 0 ? (
          <Empty title="No loops yet">
            A loop works through a Markdown list of tasks while you are away. Your checks decide what is done.
          </Empty>
        ) : (
          <ul className="loops__list">
            {loops.map(loop => (
              <LoopRow key={loop.loopId} loop={loop} />
            ))}
          </ul>
        )}
      </div>
      {isStarting ? <StartDialog onClose={() => setStarting(false)} /> : null}
    </ScrollRegion>
  )
}

function LoopRow({ loop }: { loop: LoopSummary }) {
  const { spent } = loop
  return (
    <li>
      <Link className="loops__row" to="/loops/$loopId" params={{ loopId: loop.loopId }}>
        <Dot tone={loopTone(loop)} />
        <span className="loops__name">
          <b className="truncate">{listName(loop)}</b>
          <span className="truncate">{`${projectName(loop.project)} · ${stateWords(loop)}`}</span>
        </span>
        <span className="loops__facts number">
          {countsText(loop)}
          {spent.usd === null ? '' : ` · ${formatCost(spent.usd, spent.isEstimate)}`}
        </span>
      </Link>
    </li>
  )
}

function StartDialog({ onClose }: { onClose(): void }) {
  const api = useApi()
  const navigate = useNavigate()
  const projects = useQuery({ queryKey: ['projects'], queryFn: () => api.projects() }).data ?? []
  const there = projects.filter(({ missing }) => !missing)
  const [chosenProject, setProject] = useState<string | null>(null)
  const project = chosenProject ?? there[0]?.root ?? ''
  const files = useQuery({
    ...{ queryKey: ['task-files', project], queryFn: () => api.taskFiles(project), enabled: project !== '' },
  })
  const usable = (files.data ?? []).filter(({ problem, open }) => problem === null && open > 0)
  const [chosenFile, setFile] = useState<string | null>(null)
  const list = usable.find(({ path }) => path === chosenFile)?.path ?? usable[0]?.path
  const [typed, setTyped] = useState<TypedLimits>({})
  const [allowDirty, setAllowDirty] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const broken = (files.data ?? []).find(file => file.problem !== null)
  const start = async () => {
    const limits = limitsFrom(typed)
    if (typeof limits === 'string') return setProblem(limits)
    if (list === undefined) return setProblem('Choose a file with tasks that are not ticked.')
    setBusy(true)
    try {
      const { loopId } = await api.startLoop({ project, list, limits, allowDirty })
      onClose()
      void navigate({ to: '/loops/$loopId', params: { loopId } })
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }
  return (
    <Dialog title="Start a loop" onClose={onClose}>
      <form
        className="loops__form"
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
        {usable.length > 0 ? (
          <SelectField
            label="Task list"
            value={list ?? ''}
            options={usable.map(({ path, open }) => ({ value: path, label: `${path} (${open} to do)` }))}
            onChange={setFile}
            hint="Each task gets a session and a worktree of its own, from the last commit."
          />
        ) : (
          <p className="loops__hint">
            {files.isPending && project !== ''
              ? 'Looking for task lists…'
              : 'This project has no Markdown file with "- [ ]" tasks. Write one, for example TASKS.md.'}
          </p>
        )}
        {broken === undefined ? null : <p className="loops__hint">{broken.problem}</p>}
        <LimitFields typed={typed} onChange={setTyped} />
        <label className="loops__check">
          <input
            type="checkbox"
            checked={allowDirty}
            onChange={event => setAllowDirty(event.target.checked)}
          />
          Start although files are not committed. Agents do not see them.
        </label>
        {problem === null ? null : (
          <p className="loops__problem" role="alert">
            {problem}
          </p>
        )}
        <div className="loops__buttons">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={isBusy || list === undefined}>
            Start
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
