import { MODE_WORDS, PERMISSION_WORDS, SESSION_MODES } from '@chirality/core'
import type { KeyboardEvent } from 'react'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Words } from '../../ui/marks/Empty.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { installHelp } from '../home/install-help.ts'
import { AddProject } from './AddProject.tsx'
import { agentLabel, modelOptions } from './new-session.logic.ts'
import { type StartForm, useNewSession } from './use-new-session.ts'
import { workspacesOn, worktreeWords } from './use-workspace.ts'
import './new-session.css'

export default function NewSessionDialog(props: { project?: string | undefined; onClose(): void }) {
  const { project, onClose } = props
  const session = useNewSession(project, onClose)
  const { problem, busy, canStart, create } = session
  return (
    <Dialog title="New session" onClose={onClose}>
      <form
        className="new-session"
        onSubmit={event => {
          event.preventDefault()
          void create()
        }}
        onKeyDownCapture={startOnEnter}
      >
        <ProjectField session={session} />
        <AgentFields session={session} />
        <BehaviourFields session={session} />
        <PlaceFields place={session.place} />
        <LimitFields session={session} />
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

/** Enter starts, from every field; a list opens with Space or an arrow. */
function startOnEnter(event: KeyboardEvent<HTMLFormElement>): void {
  if (event.key !== 'Enter' || !(event.target instanceof HTMLElement)) return
  if (!event.target.matches('.picker')) return
  event.preventDefault()
  event.stopPropagation()
  event.currentTarget.requestSubmit()
}

interface FieldsProps {
  session: StartForm
}

function ProjectField({ session: { set, projects, root, place } }: FieldsProps) {
  return (
    <>
      <SelectField
        first
        label="Project"
        value={root}
        onChange={folder => {
          set({ project: folder, persona: '' })
          place.forget()
        }}
        options={projects.map(({ root: folder, name, missing }) => ({
          value: folder,
          label: name,
          detail: missing ? 'The folder is gone.' : folder,
          disabled: missing,
        }))}
      />
      <AddProject onAdded={added => set({ project: added })} open={projects.length === 0} />
    </>
  )
}

function AgentFields({ session: { form, set, agent } }: FieldsProps) {
  const { harnesses, installed, harness, can, ask } = agent
  const status = installed?.[harness?.id ?? '']
  const help = harness && status ? installHelp(harness, status) : undefined
  return (
    <div className="new-session__pair">
      <SelectField
        label="Agent"
        value={harness?.id ?? ''}
        onChange={id => set({ harness: id, model: '' })}
        options={harnesses.map(info => ({ value: info.id, label: agentLabel(info, installed?.[info.id]) }))}
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
  )
}

function BehaviourFields({ session }: FieldsProps) {
  const { form, set, agent } = session
  const { can, ask, permissionMode } = agent
  return (
    <>
      <div className="new-session__pair">
        {can.persona ? <PersonaField session={session} /> : null}
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
    </>
  )
}

function PersonaField({ session: { form, set, agent } }: FieldsProps) {
  const { personas, harnesses } = agent
  return (
    <SelectField
      label="Persona"
      value={form.persona}
      onChange={id => {
        // A persona that names its agent is meant for that one.
        const named = personas.find(one => one.id === id)?.harness
        const meant = harnesses.find(harness => harness.id === named)
        set({ persona: id, ...(meant ? { harness: meant.id, model: '' } : {}) })
      }}
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
  )
}

function PlaceFields({ place }: Pick<StartForm, 'place'>) {
  const { where, setWanted, workspace, choose, plan, options, base, setBase } = place
  const worksIn = { label: 'Works in', value: workspace, onChange: choose }
  return (
    <>
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
        <SelectField {...worksIn} options={workspacesOn(where.elsewhere.machine)} />
      ) : plan && options.length > 0 ? (
        <div className="new-session__pair">
          <SelectField {...worksIn} options={options} />
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
    </>
  )
}

function LimitFields({ session: { form, set, agent } }: FieldsProps) {
  return (
    <div className="new-session__pair">
      {agent.can.budget ? (
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
      {agent.can.maxTurns ? (
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
  )
}
