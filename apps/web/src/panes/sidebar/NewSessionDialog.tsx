import { SESSION_MODES } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { permissionLabel } from '../../app/labels.ts'
import { useApi } from '../../state/use-api.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { messageOf } from '../../ui/error-message.ts'
import { Field } from '../../ui/Field.tsx'
import { AddProject } from './AddProject.tsx'
import { EMPTY_FORM, type NewSessionForm, offers, toOptions } from './new-session.logic.ts'
import './new-session.css'

export default function NewSessionDialog({
  project,
  onClose,
}: {
  project?: string | undefined
  onClose(): void
}) {
  const api = useApi()
  const navigate = useNavigate()
  const [form, setForm] = useState<NewSessionForm>({ ...EMPTY_FORM, project: project ?? '' })
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const projects = useQuery({ queryKey: ['projects'], queryFn: () => api.projects() }).data ?? []
  const harnesses = useQuery({ queryKey: ['harnesses'], queryFn: () => api.harnesses() }).data ?? []
  const installed = useQuery({ queryKey: ['harness-status'], queryFn: () => api.harnessStatus() }).data
  const root = form.project || projects[0]?.root || ''
  const personas =
    useQuery({ queryKey: ['personas', root], queryFn: () => api.personas(root), enabled: root !== '' })
      .data ?? []

  const ready = harnesses.find(({ id }) => installed?.[id]?.installed && installed[id]?.authenticated)
  const harness = harnesses.find(({ id }) => id === form.harness) ?? ready ?? harnesses[0]
  const can = offers(harness)
  const set = (fields: Partial<NewSessionForm>) => setForm(current => ({ ...current, ...fields }))

  const create = async () => {
    setBusy(true)
    try {
      await api.openProject(root)
      const { id } = await api.createSession(
        root,
        toOptions({ ...form, harness: harness?.id ?? '' }, harness),
      )
      onClose()
      await navigate({ to: '/s/$sessionId', params: { sessionId: id } })
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
        onKeyDown={event => {
          if (event.key === 'Enter' && event.target instanceof HTMLSelectElement)
            event.currentTarget.requestSubmit()
        }}
      >
        <Field label="Project">
          {id => (
            <select
              id={id}
              data-first
              value={root}
              onChange={event => set({ project: event.target.value, persona: '' })}
            >
              {projects.map(({ root: folder, name, missing }) => (
                <option key={folder} value={folder} disabled={missing}>
                  {`${name} — ${missing ? 'folder is gone' : folder}`}
                </option>
              ))}
            </select>
          )}
        </Field>
        <AddProject onAdded={added => set({ project: added })} open={projects.length === 0} />
        <div className="new-session__pair">
          <Field label="Agent">
            {id => (
              <select
                id={id}
                value={harness?.id ?? ''}
                onChange={event => set({ harness: event.target.value, model: '' })}
              >
                {harnesses.map(info => (
                  <option key={info.id} value={info.id}>
                    {`${info.name}${installed && !installed[info.id]?.installed ? ' (not installed)' : ''}`}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Model">
            {id => (
              <select id={id} value={form.model} onChange={event => set({ model: event.target.value })}>
                <option value="">its default</option>
                {can.models.map(model => (
                  <option key={model.id} value={model.id}>
                    {model.label}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
        <div className="new-session__pair">
          {can.persona ? (
            <Field label="Persona" hint={personas.find(({ id }) => id === form.persona)?.description}>
              {id => (
                <select id={id} value={form.persona} onChange={event => set({ persona: event.target.value })}>
                  <option value="">none</option>
                  {personas.map(persona => (
                    <option key={persona.id} value={persona.id} disabled={persona.error !== null}>
                      {persona.error === null ? persona.id : `${persona.id} (cannot be used)`}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          ) : null}
          <Field label="Mode">
            {id => (
              <select
                id={id}
                value={form.mode}
                onChange={event =>
                  set({ mode: SESSION_MODES.find(mode => mode === event.target.value) ?? 'workbench' })
                }
              >
                {SESSION_MODES.map(mode => (
                  <option key={mode}>{mode}</option>
                ))}
              </select>
            )}
          </Field>
        </div>
        <div className="new-session__pair">
          <Field label="Permissions">
            {id => (
              <select
                id={id}
                value={form.permissionMode}
                onChange={event =>
                  set({ permissionMode: can.permissionModes.find(mode => mode === event.target.value) ?? '' })
                }
              >
                <option value="">its default</option>
                {can.permissionModes.map(mode => (
                  <option key={mode} value={mode}>
                    {permissionLabel(mode)}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Effort">
            {id => (
              <select
                id={id}
                value={form.thinking}
                onChange={event =>
                  set({ thinking: THINKING.find(level => level === event.target.value) ?? '' })
                }
              >
                <option value="">its default</option>
                <option value="low">low</option>
                <option value="med">medium</option>
                <option value="high">high</option>
              </select>
            )}
          </Field>
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
        </div>
        {form.permissionMode === 'bypassPermissions' ? (
          <p className="new-session__warning">
            Without checks the agent runs every command, and nobody is asked.
          </p>
        ) : null}
        {problem ? (
          <p className="new-session__problem" role="alert">
            {problem}
          </p>
        ) : null}
        <div className="new-session__foot">
          <Button look="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" look="primary" disabled={busy || root === '' || !harness}>
            Start
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

const THINKING = ['low', 'med', 'high'] as const
