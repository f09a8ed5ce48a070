import { MODE_WORDS, PERMISSION_WORDS, SESSION_MODES } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { storedSessions } from '../../state/fleet/stored-sessions.ts'
import { useFleetStore } from '../../state/fleet/use-fleet.ts'
import { keepChoices, lastChoices, type Workspace } from '../../state/kept/last-choices.ts'
import {
  useClient,
  useHarnesses,
  useOffered,
  usePersonas,
  useProjects,
} from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Words } from '../../ui/marks/Empty.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { isAtDesk } from '../composer/take-focus.ts'
import { installHelp } from '../home/install-help.ts'
import { AddProject } from './AddProject.tsx'
import {
  agentLabel,
  EMPTY_FORM,
  modelOptions,
  type NewSessionForm,
  offers,
  toOptions,
} from './new-session.logic.ts'
import { useWhere } from './use-where.ts'
import { useWorkspace, workspacesOn, worktreeWords } from './use-workspace.ts'
import './new-session.css'

export default function NewSessionDialog(props: { project?: string | undefined; onClose(): void }) {
  const { project, onClose } = props
  const client = useClient()
  const navigate = useNavigate()
  const [form, setForm] = useState<NewSessionForm>({ ...EMPTY_FORM, project: project ?? '' })
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const fleet = useFleetStore()
  // Who closed it meanwhile is somewhere else by now.
  const isGone = useRef(false)
  useEffect(() => {
    isGone.current = false
    return () => {
      isGone.current = true
    }
  }, [])
  const projects = useProjects()
  const harnesses = useHarnesses()
  const { data: installed, isPending } = useQuery(client.harnesses.status.queryOptions())
  const root = form.project || projects[0]?.root || ''
  const [chosen, setWorkspace] = useState<Workspace>()
  const [base, setBase] = useState('')
  const {
    plan,
    workspace,
    options: workspaces,
    settle,
  } = useWorkspace(root, chosen ?? lastChoices(root).workspace)
  const [wanted, setWanted] = useState<string>()
  const personas = usePersonas(root).data ?? []

  const ready = harnesses.find(({ id }) => installed?.[id]?.installed && installed[id]?.authenticated)
  const known = harnesses.find(({ id }) => id === form.harness) ?? ready ?? harnesses[0]
  const { harness, ask } = useOffered(known, root)
  const status = installed?.[harness?.id ?? '']
  const help = harness && status ? installHelp(harness, status) : undefined
  const can = offers(harness, form)
  const permissionMode = form.permissionMode || can.permissionModes[0]
  const set = (fields: Partial<NewSessionForm>) => setForm(current => ({ ...current, ...fields }))
  const setPersona = (id: string) => {
    // A persona that names its agent is meant for that one.
    const wanted = harnesses.find(({ id: known }) => known === personas.find(one => one.id === id)?.harness)
    set({ persona: id, ...(wanted ? { harness: wanted.id, model: '' } : {}) })
  }

  const where = useWhere(root, harness?.id, wanted)
  const workspaceThere = chosen ?? lastChoices(root).workspace ?? 'folder'
  const chooseWorkspace = (next: Workspace) => {
    setWorkspace(next)
    keepChoices(root, { ...lastChoices(root), workspace: next })
  }

  // Until it is known what is installed the agent that stands there may be one that cannot work.
  const isChosen = form.harness !== '' || !isPending
  const canStart =
    !busy &&
    root !== '' &&
    harness !== undefined &&
    isChosen &&
    !where?.waits &&
    (!wanted || where !== undefined)

  // The page is there before the dialog goes: what is typed next is for its field, and no shortcut.
  const show = async (sessionId: string) => {
    await storedSessions(client).then(
      stored => fleet.setStored(stored),
      () => undefined,
    )
    if (isGone.current) return
    await navigate({ to: '/s/$sessionId', params: { sessionId } })
    if (isGone.current) return
    flushSync(onClose)
    if (isAtDesk()) document.getElementById('composer')?.focus()
  }

  const create = async () => {
    if (!canStart) return
    setBusy(true)
    try {
      const options = toOptions({ ...form, harness: harness?.id ?? '' }, harness)
      if (where?.elsewhere) {
        const { machine, project: folder } = where.elsewhere
        const worktree = workspaceThere === 'worktree' ? { worktree: {} } : {}
        return await show(
          (await client.sessions.create.mutate({ project: folder, ...options, machine, ...worktree })).id,
        )
      }
      await client.projects.open.mutate({ project: root })
      const { id } = await client.sessions.create.mutate({
        project: root,
        ...options,
        ...((await settle()) === 'worktree' ? { worktree: base ? { base } : {} } : {}),
      })
      await show(id)
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }

  return (
    <Dialog title="New session" onClose={onClose}>
      <form
        className="new-session"
        onSubmit={event => {
          event.preventDefault()
          void create()
        }}
        // Enter starts, from every field; a list opens with Space or an arrow.
        onKeyDownCapture={event => {
          if (event.key !== 'Enter' || !(event.target instanceof HTMLElement)) return
          if (!event.target.matches('.picker')) return
          event.preventDefault()
          event.stopPropagation()
          event.currentTarget.requestSubmit()
        }}
      >
        <SelectField
          first
          label="Project"
          value={root}
          onChange={folder => {
            set({ project: folder, persona: '' })
            setWorkspace(undefined)
            setBase('')
          }}
          options={projects.map(({ root: folder, name, missing }) => ({
            value: folder,
            label: name,
            detail: missing ? 'The folder is gone.' : folder,
            disabled: missing,
          }))}
        />
        <AddProject onAdded={added => set({ project: added })} open={projects.length === 0} />
        <div className="new-session__pair">
          <SelectField
            label="Agent"
            value={harness?.id ?? ''}
            onChange={id => set({ harness: id, model: '' })}
            options={harnesses.map(info => ({
              value: info.id,
              label: agentLabel(info, installed?.[info.id]),
            }))}
            hint={help && (help.command ? <code>{help.command}</code> : <Words text={help.text ?? ''} />)}
          />
          <SelectField
            label="Model"
            value={form.model}
            onChange={model => set({ model, harness: harness?.id ?? '' })}
            options={modelOptions(can.models)}
            onOpen={ask}
          />
        </div>
        <div className="new-session__pair">
          {can.persona ? (
            <SelectField
              label="Persona"
              value={form.persona}
              onChange={setPersona}
              options={[
                { value: '', label: 'none' },
                ...personas.map(({ id, error }) => ({
                  value: id,
                  label: error === null ? id : `${id} (cannot be used)`,
                  disabled: error !== null,
                })),
              ]}
              hint={personas.find(({ id }) => id === form.persona)?.description}
            />
          ) : null}
          <SelectField
            label="Effort"
            value={form.thinking}
            onChange={thinking => set({ thinking })}
            options={can.efforts}
            onOpen={ask}
          />
        </div>
        <div className="new-session__pair">
          <SelectField
            label="Mode"
            value={form.mode}
            onChange={mode => set({ mode })}
            options={SESSION_MODES.map(mode => ({
              value: mode,
              label: MODE_WORDS[mode].label,
              detail: MODE_WORDS[mode].consequence,
            }))}
            hint={MODE_WORDS[form.mode].consequence}
          />
          <SelectField
            label="Permissions"
            value={permissionMode ?? ''}
            onOpen={ask}
            onChange={mode => set({ permissionMode: mode })}
            options={can.permissionModes.map(mode => ({
              value: mode,
              label: PERMISSION_WORDS[mode].label,
              detail: PERMISSION_WORDS[mode].consequence,
            }))}
            hint={permissionMode && PERMISSION_WORDS[permissionMode].consequence}
          />
        </div>
        {where ? (
          <SelectField
            label="Where"
            value={where.value}
            onChange={setWanted}
            options={where.options}
            hint={where.hint}
          />
        ) : null}
        {where?.elsewhere ? (
          <SelectField
            label="Works in"
            value={workspaceThere}
            onChange={chooseWorkspace}
            options={workspacesOn(where.elsewhere.machine)}
          />
        ) : plan && workspaces.length > 0 ? (
          <div className="new-session__pair">
            <SelectField label="Works in" value={workspace} onChange={chooseWorkspace} options={workspaces} />
            {workspace === 'worktree' && plan.can ? (
              <SelectField
                label="From"
                value={base}
                onChange={setBase}
                options={[
                  { value: '', label: `what is checked out, ${plan.branch ?? plan.commit.slice(0, 8)}` },
                  ...plan.branches.map(branch => ({ value: branch, label: branch })),
                ]}
                hint={worktreeWords(plan)}
              />
            ) : null}
          </div>
        ) : null}
        <div className="new-session__pair">
          {can.budget ? (
            <Field label="Budget in $">
              {id => (
                <input
                  id={id}
                  className="input"
                  inputMode="decimal"
                  placeholder="none"
                  value={form.budget}
                  onChange={event => set({ budget: event.target.value })}
                />
              )}
            </Field>
          ) : null}
          {can.maxTurns ? (
            <Field label="Step limit">
              {id => (
                <input
                  id={id}
                  className="input"
                  inputMode="numeric"
                  placeholder={form.mode === 'pipeline' ? '25' : 'none'}
                  value={form.maxTurns}
                  onChange={event => set({ maxTurns: event.target.value })}
                />
              )}
            </Field>
          ) : null}
        </div>
        {problem ? (
          <p className="new-session__problem" role="alert">
            {problem}
          </p>
        ) : null}
        <div className="new-session__foot">
          <Button look="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" look="primary" disabled={!canStart}>
            {busy ? 'Starting…' : 'Start'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
