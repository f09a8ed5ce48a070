import type { CallOutputs } from '@chirality/client'
import { visibleText } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Form, TextField } from '../../ui/controls/Form.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { TryOut } from './TryOut.tsx'

type OwnAgent = CallOutputs['agents']['list']['agents'][number]
type AgentProbe = CallOutputs['agents']['test']

/** The agents that the user added by a command that speaks the Agent Client Protocol. */
export function OwnAgents() {
  const client = useClient()
  const askAgain = useAskAgain()
  const { data, error } = useQuery(client.agents.list.queryOptions(undefined, { staleTime: 0, retry: false }))
  const [isAdding, setAdding] = useState(false)
  const refresh = async () => {
    const { agents, harnesses } = client
    await askAgain(agents.list.queryFilter(), harnesses.list.queryFilter(), harnesses.status.queryFilter())
  }
  return (
    <section aria-label="Agents you added">
      <header className="own-agents__head">
        <h2 className="settings__group">
          Agents you added <span className="number">{data?.agents.length ?? ''}</span>
        </h2>
        {data?.refusal === null && !isAdding ? (
          <Button size="small" onClick={() => setAdding(true)}>
            Add an agent
          </Button>
        ) : null}
      </header>
      <p className="own-agents__about">
        Any program that speaks the Agent Client Protocol. It runs on this machine, with your rights.
      </p>
      {error ? <p role="alert">{messageOf(error)}</p> : null}
      {data?.refusal ? <p>{data.refusal}</p> : null}
      {isAdding ? (
        <NewAgent
          onCancel={() => setAdding(false)}
          onDone={async () => {
            setAdding(false)
            await refresh()
          }}
        />
      ) : null}
      {data && data.agents.length + data.problems.length > 0 ? (
        <ul className="settings__card">
          {data.problems.map(problem => (
            <li key={problem} className="settings__row settings__row--bad">
              {problem}
            </li>
          ))}
          {data.agents.map(agent => (
            <AgentRow
              key={agent.fingerprint}
              agent={agent}
              mayChange={data.refusal === null}
              onChange={refresh}
            />
          ))}
        </ul>
      ) : null}
      {data && data.agents.length > 0 ? <p className="settings__file">{data.file}</p> : null}
    </section>
  )
}

function AgentRow(props: { agent: OwnAgent; mayChange: boolean; onChange(): Promise<void> }) {
  const { agent, mayChange, onChange } = props
  const { name, title = name, fingerprint, env } = agent
  const client = useClient()
  const [step, setStep] = useState<'rest' | 'asking' | 'trying'>('rest')
  const [probe, setProbe] = useState<AgentProbe | null>(null)
  const command = visibleText([agent.command, ...agent.args].join(' '))
  const tryIt = async () => {
    setStep('trying')
    setProbe(null)
    try {
      setProbe(await client.agents.test.mutate({ name, fingerprint }))
    } catch (error) {
      setProbe({ kind: 'failed', error: messageOf(error) })
    } finally {
      setStep('rest')
    }
  }
  const remove = async () => {
    try {
      await client.agents.remove.mutate({ name })
      toasts.info(`Removed ${name}. Its sessions stay.`)
    } catch (error) {
      toasts.error(messageOf(error))
    }
    await onChange()
  }
  return (
    <li className="settings__row">
      <span className="settings__what settings__what--fill">
        <b>{visibleText(title)}</b>
        <code className="tool-server__command">{command}</code>
        {env.length > 0 ? <span>{`gets ${env.join(', ')}`}</span> : null}
      </span>
      {mayChange ? (
        <span className="tool-server__actions">
          <Button
            size="small"
            disabled={step !== 'rest'}
            aria-label={`Try ${name}`}
            onClick={() => setStep('asking')}
          >
            Try
          </Button>
          <Button size="small" aria-label={`Remove ${name}`} onClick={() => void remove()}>
            Remove
          </Button>
        </span>
      ) : null}
      <TryOut
        name={name}
        command={command}
        step={step}
        about="This runs on your machine, in an empty folder, and is ended after its answer:"
        action="Run it"
        onRest={() => setStep('rest')}
        onTry={() => void tryIt()}
      >
        {probe ? <Answer probe={probe} /> : null}
      </TryOut>
    </li>
  )
}

function Answer({ probe }: { probe: AgentProbe }) {
  if (probe.kind === 'failed') return <p className="tool-server__bad">{visibleText(probe.error)}</p>
  const { ms, version, can, logins } = probe
  return (
    <>
      <p className="tool-server__good">
        {visibleText(`Answered in ${ms} ms${version === null ? '' : `, version ${version}`}`)}
      </p>
      {can.length > 0 ? <p className="tool-server__tools">{`It can: ${can.join(', ')}`}</p> : null}
      {logins.length > 0 ? (
        <p className="tool-server__tools">{visibleText(`Logs in by: ${logins.join(', ')}`)}</p>
      ) : null}
    </>
  )
}

const NOTHING = { name: '', title: '', command: '', args: '', env: '' }

function NewAgent({ onDone, onCancel }: { onDone(): Promise<void>; onCancel(): void }) {
  const client = useClient()
  const [form, setForm] = useState(NOTHING)
  const [fault, setFault] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const save = async () => {
    if (isBusy) return
    setBusy(true)
    setFault(null)
    try {
      const { name, command } = form
      const title = form.title.trim()
      await client.agents.add.mutate({
        name,
        command: command.trim(),
        ...(title === '' ? {} : { title }),
        args: form.args.split('\n').filter(line => line !== ''),
        env: form.env.split(/[\s,]+/).filter(Boolean),
      })
      await onDone()
    } catch (error) {
      setFault(messageOf(error))
    } finally {
      setBusy(false)
    }
  }
  const field = (name: keyof typeof NOTHING) => ({
    isCode: name !== 'title',
    value: form[name],
    onChange: (value: string) => setForm(now => ({ ...now, [name]: value })),
  })
  return (
    <Form
      label="New agent"
      className="settings__card settings__card--padded"
      failure={fault}
      onSend={() => void save()}
      foot={
        <>
          <Button onClick={onCancel}>Cancel</Button>
          <Button look="primary" type="submit" disabled={isBusy}>
            Add
          </Button>
        </>
      }
    >
      <TextField
        label="Name"
        hint="Lower-case letters, digits and dashes. Its sessions are named after it."
        {...field('name')}
      />
      <TextField label="Shown as" hint="Optional." {...field('title')} />
      <TextField label="Command" {...field('command')} />
      <TextField
        label="Arguments"
        hint="One a line, such as --acp. They are shown: put secrets into variables."
        {...{ rows: 2, ...field('args') }}
      />
      <TextField
        label="Variables"
        hint="Names only: it gets their values from the server's environment."
        {...field('env')}
      />
    </Form>
  )
}
