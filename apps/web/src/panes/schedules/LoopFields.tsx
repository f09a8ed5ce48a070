import { useQuery } from '@tanstack/react-query'
import { useClient } from '../../state/server/use-client.ts'
import { TextField } from '../../ui/controls/Form.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { HAND_OVER } from '../loops/agent-names.ts'
import { Commands } from '../loops/Commands.tsx'
import type { FormProps, ScheduleForm } from './schedule-form.logic.ts'

/** What the list of a form names now. */
function useListPlan({ kind, project, list }: ScheduleForm) {
  const client = useClient()
  return useQuery(
    client.loops.plan.queryOptions(
      { project, list },
      { enabled: kind === 'loop' && project !== '' && list !== '', staleTime: 0, retry: false },
    ),
  )
}

/** Whether every command that the list names now is allowed in the form. */
export function useAllowed(form: ScheduleForm): boolean {
  const { data } = useListPlan(form)
  if (form.kind !== 'loop' || form.list === '') return true
  return data !== undefined && [...data.setup, ...data.checks].every(one => form.commands.includes(one))
}

/** The commands of the list, and the box that allows exactly these for the runs. */
function ListCommands({ form, set }: FormProps) {
  const { data, error } = useListPlan(form)
  const kept = (named: readonly string[]) => (
    <Commands
      title="Allowed before, and not in the list now"
      commands={form.commands.filter(one => !named.includes(one))}
    />
  )
  if (error)
    return (
      <>
        <p className="schedules__problem">{messageOf(error)}</p>
        {kept([])}
      </>
    )
  if (data === undefined) return null
  const commands = [...new Set([...data.setup, ...data.checks])]
  const problem = data.problems.find(({ kind }) => kind === 'list')
  if (commands.length === 0)
    return (
      <>
        <p className="schedules__hint">{problem?.words ?? 'It names no commands.'}</p>
        {kept([])}
      </>
    )
  const isAllowed = commands.every(one => form.commands.includes(one))
  return (
    <>
      <div className="loops__plan">
        <Commands title="Set-up of each worktree" commands={data.setup} />
        <Commands title="Checks" commands={data.checks} />
        {kept(commands)}
      </div>
      <label className="page__check">
        <input
          type="checkbox"
          checked={isAllowed}
          onChange={event => set({ commands: event.target.checked ? commands : [] })}
        />
        Each run may use these commands on this machine without asking
      </label>
    </>
  )
}

export function LoopFields({ form, set }: FormProps) {
  const client = useClient()
  const { data, isPending } = useQuery(
    client.loops.files.queryOptions({ project: form.project }, { enabled: form.project !== '' }),
  )
  const files = (data ?? []).filter(({ problem }) => problem === null).map(({ path }) => path)
  const all = form.list === '' || files.includes(form.list) ? files : [form.list, ...files]
  if (all.length === 0)
    return (
      <p className="schedules__hint">
        {isPending
          ? 'Looking for task lists…'
          : 'This project has no Markdown file with "- [ ]" tasks. Write one, for example TASKS.md.'}
      </p>
    )
  return (
    <>
      <SelectField
        label="Task list"
        value={form.list}
        options={[
          ...(form.list === '' ? [{ value: '', label: 'Choose one' }] : []),
          ...all.map(path => ({ value: path, label: path })),
        ]}
        onChange={list => set({ list, commands: [] })}
        hint="It is read when it runs. A task with a command that is not allowed here waits for you then."
      />
      <ListCommands form={form} set={set} />
      <div className="schedules__pair">
        <TextField
          label="Turns of agents"
          value={form.maxIterations}
          hint="Of each run. Empty: no limit."
          onChange={maxIterations => set({ maxIterations })}
        />
        <TextField
          label="Tasks at once"
          value={form.parallel}
          hint="Empty: as the list says."
          onChange={parallel => set({ parallel })}
        />
        <TextField
          label="Waits for the plan"
          value={form.waitForLimits}
          hint="How often it may wait until a limit is reset. Empty: as the list says."
          onChange={waitForLimits => set({ waitForLimits })}
        />
        <TextField
          label={HAND_OVER}
          value={form.handOver}
          hint="Agents that go on at a limit of the plan; off: nobody. Empty: as the list says."
          onChange={handOver => set({ handOver })}
        />
      </div>
    </>
  )
}
