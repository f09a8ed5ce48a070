import type { CallInputs, CallOutputs } from '@chirality/client'
import { visibleText } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ToolServer, ToolServerSource } from '../../state/server/answers.ts'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Form, TextField } from '../../ui/controls/Form.tsx'
import { Segmented } from '../../ui/controls/Segmented.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { plural } from '../../ui/text/format.ts'
import { useProjectChoice } from './ProjectChoice.tsx'
import { SettingsHead } from './SettingsHead.tsx'
import { TryOut } from './TryOut.tsx'
import { commandOf, configOf, formOf, NEW_FORM, originOf, type ServerForm } from './tool-server-text.ts'

type OwnPlace = CallInputs['toolServers']['remove']['place']
type ServerProbe = CallOutputs['toolServers']['test']

interface Editing {
  /** Project for which the editor was opened: saved there or nowhere. */
  project: string
  place: OwnPlace
  form: ServerForm
  isNew: boolean
}

/** The tool servers (MCP) of a project: where each comes from, what it runs, and whether it answers. */
export function ToolServerSettings() {
  const client = useClient()
  const askAgain = useAskAgain()
  const [editing, setEditing] = useState<Editing | null>(null)
  const { project, hasNone, field, placeholder } = useProjectChoice(() => setEditing(null))
  // Opened before any project was known: it belongs to the first.
  if (editing?.project === '' && project !== '') setEditing({ ...editing, project })
  const { data, error } = useQuery(
    client.toolServers.list.queryOptions(
      { project },
      { enabled: project !== '', staleTime: 0, retry: false },
    ),
  )
  const refresh = () => askAgain(client.toolServers.list.queryFilter())
  const sources = data?.filter(({ servers, problems }) => servers.length + problems.length > 0) ?? []
  return (
    <>
      <SettingsHead
        title="Tool servers"
        about="More tools for your agents, over MCP: a tracker, a database, a browser. Each call is asked about like a command."
      >
        <Button
          disabled={hasNone}
          onClick={() =>
            setEditing({ project, place: { kind: 'user-project' }, form: NEW_FORM, isNew: true })
          }
        >
          Add a server
        </Button>
      </SettingsHead>
      {field}
      {placeholder({ isRead: data !== undefined, error, lines: 4, label: 'Reading the tool servers' })}
      {editing?.project === project && data ? (
        <ServerEditor
          key={JSON.stringify(editing)}
          {...{ editing, sources: data }}
          onDone={async () => {
            setEditing(null)
            await refresh()
          }}
          onCancel={() => setEditing(null)}
        />
      ) : null}
      {data && sources.length === 0 && !editing ? (
        <Empty title="No tool servers">Agents use what they have themselves. Add one for this project.</Empty>
      ) : null}
      {sources.map(source => (
        <section key={JSON.stringify(source.place)} aria-label={originOf(source)}>
          <h2 className="settings__group">
            {originOf(source)} <span className="number">{source.servers.length}</span>
          </h2>
          <ul className="settings__card">
            {source.problems.map(problem => (
              <li key={problem} className="settings__row settings__row--bad">
                {problem}
              </li>
            ))}
            {source.servers.map(server => (
              <ServerRow
                key={`${project} ${server.name} ${server.fingerprint}`}
                {...{ project, server, place: source.place, onChange: refresh }}
                onEdit={place => setEditing({ project, place, form: formOf(server), isNew: false })}
              />
            ))}
          </ul>
          <p className="settings__file">{source.file}</p>
        </section>
      ))}
    </>
  )
}

function ServerRow(props: {
  project: string
  place: ToolServerSource['place']
  server: ToolServer
  onEdit(place: OwnPlace): void
  onChange(): Promise<void>
}) {
  const { project, place, server, onEdit, onChange } = props
  const { name, fingerprint, config } = server
  const client = useClient()
  const [step, setStep] = useState<'rest' | 'asking' | 'trying'>('rest')
  const [probe, setProbe] = useState<ServerProbe | null>(null)
  const command = visibleText(commandOf(server))
  const own = place.kind === 'project' ? null : place
  const names = config.type === 'stdio' ? config.env : config.headers
  const tryIt = async () => {
    setStep('trying')
    setProbe(null)
    try {
      setProbe(await client.toolServers.test.mutate({ project, place, name, fingerprint }))
    } catch (error) {
      setProbe({ kind: 'failed', error: messageOf(error), lastWords: '' })
    } finally {
      setStep('rest')
    }
  }
  const remove = async () => {
    try {
      if (own) await client.toolServers.remove.mutate({ project, place: own, name })
      toasts.info(`Removed ${name}`)
    } catch (error) {
      toasts.error(messageOf(error))
    }
    await onChange()
  }
  return (
    <li className="settings__row">
      <span className="settings__what settings__what--fill">
        <b>{name}</b>
        <code className="tool-server__command">{command}</code>
        {names.length > 0 ? <span>{`with ${names.join(', ')}, not shown`}</span> : null}
        {server.untried ? <span>{server.untried}</span> : null}
      </span>
      <span className="tool-server__actions">
        <Button
          size="small"
          disabled={step !== 'rest' || server.untried !== null}
          aria-label={`Try ${name}`}
          onClick={() => (server.wasTried || probe ? void tryIt() : setStep('asking'))}
        >
          Try
        </Button>
        {own ? (
          <>
            <Button size="small" aria-label={`Edit ${name}`} onClick={() => onEdit(own)}>
              Edit
            </Button>
            <Button size="small" aria-label={`Remove ${name}`} onClick={() => void remove()}>
              Remove
            </Button>
          </>
        ) : null}
      </span>
      <TryOut
        {...{ name, command, step }}
        about={
          config.type === 'stdio'
            ? 'This runs on your machine, in the project, and is ended after its answer:'
            : 'This address is connected to, with the headers above:'
        }
        action={config.type === 'stdio' ? 'Run it' : 'Connect'}
        onRest={() => setStep('rest')}
        onTry={() => void tryIt()}
      >
        {probe ? <Answer probe={probe} /> : null}
      </TryOut>
    </li>
  )
}

function Answer({ probe }: { probe: ServerProbe }) {
  if (probe.kind === 'connected')
    return (
      <>
        <p className="tool-server__good">
          {`Answered in ${probe.ms} ms with ${plural(probe.tools.length, 'tool')}${probe.hasMore ? ' and more' : ''}`}
        </p>
        <p className="tool-server__tools">{probe.tools.join(', ')}</p>
      </>
    )
  return (
    <>
      <p className="tool-server__bad">{probe.error}</p>
      {probe.lastWords === '' ? null : (
        <pre className="tool-server__words">{visibleText(probe.lastWords)}</pre>
      )}
    </>
  )
}

function ServerEditor(props: {
  editing: Editing
  sources: ToolServerSource[]
  onDone(): Promise<void>
  onCancel(): void
}) {
  const { editing, sources, onDone, onCancel } = props
  const { project } = editing
  const client = useClient()
  const [form, setForm] = useState(editing.form)
  const [place, setPlace] = useState(JSON.stringify(editing.place))
  const [fault, setFault] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const places = sources.filter(source => source.place.kind !== 'project')
  const set = (part: Partial<ServerForm>) => setForm(now => ({ ...now, ...part }))
  const isProgram = form.type === 'stdio'
  const save = async () => {
    if (isBusy) return
    const config = configOf(form)
    if (typeof config === 'string') return setFault(config)
    setBusy(true)
    setFault(null)
    try {
      await client.toolServers.save.mutate({
        project,
        place: JSON.parse(place) as OwnPlace,
        name: form.name,
        config,
      })
      await onDone()
    } catch (error) {
      setFault(messageOf(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <Form
      label={editing.isNew ? 'New tool server' : `Edit ${form.name}`}
      className="settings__card settings__card--padded"
      failure={fault}
      onSend={() => void save()}
      foot={
        <>
          <Button onClick={onCancel}>Cancel</Button>
          <Button look="primary" type="submit" disabled={isBusy}>
            Save
          </Button>
        </>
      }
    >
      {editing.isNew ? (
        <>
          <TextField
            label="Name"
            hint="Letters, digits, _ and -. Its tools are named after it."
            {...{ value: form.name, maxLength: 64, onChange: name => set({ name: name.trim() }) }}
          />
          <SelectField
            label="For"
            value={place}
            onChange={setPlace}
            options={places.map(source => ({ value: JSON.stringify(source.place), label: originOf(source) }))}
          />
        </>
      ) : null}
      <Segmented
        label="Kind"
        value={form.type}
        segments={[
          { value: 'stdio', label: 'A program', icon: 'terminal' },
          { value: 'http', label: 'An address', icon: 'globe' },
        ]}
        onChange={type => set({ type })}
      />
      <TextField
        label={isProgram ? 'Command' : 'Address'}
        {...{ isCode: true, value: form.target, onChange: target => set({ target }) }}
      />
      {isProgram ? (
        <TextField
          label="Arguments"
          hint="One a line. They are shown: put secrets into variables."
          {...{ isCode: true, rows: 2, value: form.args, onChange: args => set({ args }) }}
        />
      ) : null}
      <TextField
        label={isProgram ? 'Variables' : 'Headers'}
        hint="NAME=value, one a line. Values are stored for you alone and not shown again."
        {...{ isCode: true, rows: 2, value: form.secrets, onChange: secrets => set({ secrets }) }}
      />
    </Form>
  )
}
