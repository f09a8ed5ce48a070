import { PERMISSION_WORDS } from '@chirality/core'
import { skipToken, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { projectName } from '../../app/project.ts'
import type { ShownSchedule } from '../../state/server/answers.ts'
import {
  useAskAgain,
  useClient,
  useHarnesses,
  usePersonas,
  useProjects,
} from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { TextField } from '../../ui/controls/Form.tsx'
import { Segmented } from '../../ui/controls/Segmented.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { offers } from '../sidebar/new-session.logic.ts'
import { LoopFields, useAllowed } from './LoopFields.tsx'
import {
  emptyForm,
  type FormProps,
  formOf,
  type ScheduleForm,
  scheduleFrom,
  timeIn,
  timesFrom,
  timeZones,
} from './schedule-form.logic.ts'

/** Adds a schedule, or changes one. */
export function ScheduleDialog({
  schedule,
  onClose,
}: {
  schedule: ShownSchedule | undefined
  onClose(): void
}) {
  const client = useClient()
  const askAgain = useAskAgain()
  const projects = useProjects()
  const there = projects.filter(({ missing }) => !missing)
  const [typed, setTyped] = useState(() => {
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
    return schedule === undefined ? emptyForm(timeZone) : formOf(schedule, timeZone)
  })
  const form = { ...typed, project: typed.project || (there[0]?.root ?? '') }
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const isAllowed = useAllowed(form)
  const set = (fields: Partial<ScheduleForm>) => {
    setTyped(before => ({ ...before, ...fields }))
    setProblem(null)
  }
  const save = async () => {
    const input = scheduleFrom(form)
    if (typeof input === 'string') return setProblem(input)
    setBusy(true)
    try {
      const { project: _project, ...changed } = input
      await (schedule === undefined
        ? client.schedules.add.mutate(input)
        : client.schedules.change.mutate({ id: schedule.id, ...changed }))
      await askAgain(client.schedules.list.queryFilter())
      onClose()
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }
  return (
    <Dialog title={schedule === undefined ? 'Add a schedule' : `Edit ${schedule.name}`} onClose={onClose}>
      <form
        className="page__form schedules__form"
        onSubmit={event => {
          event.preventDefault()
          void save()
        }}
      >
        {schedule === undefined ? (
          <>
            <Segmented
              label="What runs"
              value={form.kind}
              segments={[
                { value: 'prompt', label: 'A prompt' },
                { value: 'loop', label: 'A task list' },
              ]}
              onChange={kind => set({ kind })}
            />
            <SelectField
              first
              label="Project"
              value={form.project}
              options={there.map(({ root, name }) => ({ value: root, label: name, detail: root }))}
              onChange={project => set({ project, list: '', persona: '' })}
            />
          </>
        ) : (
          <p className="schedules__hint">{`In ${projectName(form.project)}. A run that has begun goes on as it was.`}</p>
        )}
        {form.kind === 'prompt' ? (
          <PromptFields form={form} set={set} />
        ) : (
          <LoopFields form={form} set={set} />
        )}
        <TimeFields form={form} set={set} />
        <TextField
          label="Name"
          value={form.name}
          hint="Empty: the first words of what it does."
          onChange={name => set({ name })}
        />
        <details>
          <summary>Limits, missed times and worktrees</summary>
          <RuleFields form={form} set={set} />
        </details>
        {problem === null ? null : (
          <p className="schedules__problem" role="alert">
            {problem}
          </p>
        )}
        <div className="page__buttons">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={isBusy || !isAllowed}>
            {schedule === undefined ? 'Add' : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function PromptFields({ form, set }: FormProps) {
  const harnesses = useHarnesses()
  const personas = usePersonas(form.project).data ?? []
  // Those of the default agent are known only when it runs; one that was set elsewhere stays.
  const all = offers(harnesses.find(({ id }) => id === form.harness)).permissionModes
  const offered = all.filter(mode => mode !== 'auto')
  const modes = new Set([...offered, ...(form.permissionMode === '' ? [] : [form.permissionMode])])
  return (
    <>
      <Field label="Prompt" hint="Each run begins a new session with it.">
        {id => (
          <textarea
            id={id}
            className="input"
            rows={3}
            value={form.prompt}
            onChange={event => set({ prompt: event.target.value })}
          />
        )}
      </Field>
      <div className="schedules__pair">
        <SelectField
          label="Agent"
          value={form.harness}
          options={[
            { value: '', label: 'its default' },
            ...harnesses.map(({ id, name, label = name }) => ({ value: id, label })),
          ]}
          onChange={harness => set({ harness, model: '', permissionMode: '' })}
        />
        <SelectField
          label="Persona"
          value={form.persona}
          options={[
            { value: '', label: 'none' },
            ...personas.map(({ id, error }) => ({ value: id, label: id, disabled: error !== null })),
          ]}
          onChange={persona => set({ persona })}
        />
        <SelectField
          label="Permissions"
          value={form.permissionMode}
          options={[
            { value: '' as const, label: 'its default' },
            ...[...modes].map(mode => ({
              value: mode,
              label: PERMISSION_WORDS[mode].label,
              detail: PERMISSION_WORDS[mode].consequence,
            })),
          ]}
          onChange={permissionMode => set({ permissionMode })}
        />
      </div>
      <label className="page__check">
        <input
          type="checkbox"
          checked={form.worktree}
          onChange={event => set({ worktree: event.target.checked })}
        />
        In a worktree of its own, from what is checked out then
      </label>
    </>
  )
}

function TimeFields({ form, set }: FormProps) {
  return (
    <>
      <Segmented
        label="When it runs"
        value={form.times}
        segments={[
          { value: 'cron', label: 'At times' },
          { value: 'every', label: 'Every' },
          { value: 'at', label: 'Once' },
        ]}
        onChange={times => set({ times })}
      />
      {form.times === 'cron' ? (
        <div className="schedules__pair">
          <TextField
            label="Cron fields"
            isCode
            value={form.cron}
            hint="Minute, hour, day, month, weekday."
            onChange={cron => set({ cron })}
          />
          <SelectField
            label="Time zone"
            value={form.timeZone}
            options={timeZones(form.timeZone).map(zone => ({ value: zone, label: zone }))}
            onChange={timeZone => set({ timeZone })}
          />
        </div>
      ) : form.times === 'every' ? (
        <div className="schedules__pair">
          <TextField label="Every" isNumber value={form.every} onChange={every => set({ every })} />
          <SelectField
            label="Unit"
            value={form.unit}
            options={(['minutes', 'hours', 'days'] as const).map(unit => ({ value: unit, label: unit }))}
            onChange={unit => set({ unit })}
          />
        </div>
      ) : (
        <Field label="Date and time" hint="In the time zone of this browser.">
          {id => (
            <input
              id={id}
              className="input"
              type="datetime-local"
              value={form.at}
              onChange={event => set({ at: event.target.value })}
            />
          )}
        </Field>
      )}
      <Preview form={form} />
    </>
  )
}

/** When that is, as the server reads it. */
function Preview({ form }: { form: ScheduleForm }) {
  const client = useClient()
  const when = timesFrom(form)
  const { data, error } = useQuery(
    client.schedules.preview.queryOptions(typeof when === 'string' ? skipToken : { when }, { retry: false }),
  )
  const words =
    typeof when === 'string'
      ? when
      : error
        ? messageOf(error)
        : data && data.times.length > 0
          ? `Runs ${data.words}. Next: ${data.times.map(time => timeIn(time, when)).join(' · ')}`
          : data
            ? 'There is no such time to come.'
            : ''
  return (
    <p className="schedules__hint number" role="status">
      {words}
    </p>
  )
}

function RuleFields({ form, set }: FormProps) {
  return (
    <div className="schedules__pair">
      <TextField
        label="Budget in dollars"
        isNumber
        value={form.budget}
        hint="Of each run. Empty: no limit."
        onChange={budget => set({ budget })}
      />
      <TextField
        label="Minutes"
        isNumber
        value={form.maxMinutes}
        hint={form.kind === 'prompt' ? 'Of each run. Empty: 60.' : 'Of each run. Empty: no limit.'}
        onChange={maxMinutes => set({ maxMinutes })}
      />
      <TextField
        label="Wait for an answer"
        isNumber
        value={form.answerMinutes}
        hint="Minutes. Then the run ends, and needs you."
        onChange={answerMinutes => set({ answerMinutes })}
      />
      <TextField
        label="Keep worktrees"
        isNumber
        value={form.keepRuns}
        hint="Of so many runs. Of earlier ones only what has no work of its own is removed."
        onChange={keepRuns => set({ keepRuns })}
      />
      <SelectField
        label="Missed times"
        value={form.missed}
        options={[
          { value: 'skip', label: 'Leave out', detail: 'Times at which no server ran.' },
          { value: 'once', label: 'Run once', detail: 'As soon as a server runs.' },
        ]}
        onChange={missed => set({ missed })}
      />
      <SelectField
        label="While it still runs"
        value={form.overlap}
        options={[
          { value: 'skip', label: 'Leave out', detail: 'One run at a time.' },
          { value: 'allow', label: 'Run beside it', detail: 'Two runs can change the same files.' },
        ]}
        onChange={overlap => set({ overlap })}
      />
    </div>
  )
}
