import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useFleet } from '../../state/fleet/use-fleet.ts'
import type { FleetInfo, Machine } from '../../state/server/answers.ts'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { Words } from '../../ui/marks/Empty.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { MachineCard, useMachines } from '../fleet/Machines.tsx'
import { SettingsHead } from './SettingsHead.tsx'

/** The machines whose sessions are shown here, who may join them, and who may no longer. */
export function MachineSettings() {
  const client = useClient()
  const sessions = useFleet()
  const { data: info, error, isPending } = useQuery(client.fleet.info.queryOptions())
  const machines = useMachines().data ?? []
  const [invited, setInvited] = useState<{ code: string; fingerprint: string } | null>(null)
  const invite = () =>
    client.fleet.invite
      .mutate({ role: 'worker' })
      .then(setInvited, (failure: unknown) => toasts.error(messageOf(failure)))
  return (
    <>
      <SettingsHead
        title="Machines"
        about="Agents can run on several machines and be seen and answered in one place."
      >
        {info?.hasBroker ? <Button onClick={() => void invite()}>Invite a machine</Button> : null}
      </SettingsHead>
      {error ? <p role="alert">{messageOf(error)}</p> : null}
      {isPending || error ? null : info ? <FleetState info={info} /> : <NoFleet />}
      {invited ? (
        <div className="settings__card settings__card--padded machine-code" role="status">
          <p>
            Run this on the other machine within a day. It works once; whoever has it can join and run as one
            of your machines.
          </p>
          <p className="settings__link">
            <code>{`chirality fleet join ${invited.code}`}</code>
            <CopyButton text={`chirality fleet join ${invited.code}`} label="Copy the command" />
          </p>
          <p>{`It shows this certificate: ${invited.fingerprint}`}</p>
        </div>
      ) : null}
      {machines.length > 0 ? (
        <ul className="machines">
          {machines.map(machine => (
            <MachineCard key={machine.machine} machine={machine} sessions={sessions}>
              <MachineFacts machine={machine} />
              {machine.isThis && info ? <CopiesSwitch copies={info.copies} /> : null}
              {info?.hasBroker && machine.hasKey !== null && !machine.isThis ? (
                <TakeOut key={String(machine.hasKey)} machine={machine} />
              ) : null}
            </MachineCard>
          ))}
        </ul>
      ) : null}
    </>
  )
}

function FleetState({ info }: { info: FleetInfo }) {
  const { machine, role, url, connected, problem, readOnly, hasBroker } = info
  return (
    <div className="fleet-state" role="status">
      <p>
        {connected
          ? `This machine, ${machine}, is a ${role} of the fleet at ${url}.`
          : `This machine, ${machine}, is not connected to the fleet at ${url}. It is tried again all the time; agents work on.`}
        {hasBroker ? '' : ' Machines are invited and revoked where the broker is.'}
      </p>
      {connected || problem === null ? null : (
        <p className="fleet-state__why">
          <Words text={problem} />
        </p>
      )}
      {readOnly === null ? null : (
        <p>{`The fleet is read-only now: ${readOnly}. Agents work on, and everything is shipped later.`}</p>
      )}
    </div>
  )
}

function NoFleet() {
  return (
    <div className="settings__card settings__card--padded">
      <p>This server is in no fleet. On the machine that shows everything:</p>
      <p>
        <code>chirality fleet init</code>
      </p>
      <p>
        Then start the server with the command that it prints, and invite the others here. docs/fleet.md has
        the rest.
      </p>
    </div>
  )
}

function MachineFacts({
  machine: { role, version, labels, agents, projects, copies, key },
}: {
  machine: Machine
}) {
  const installed = agents.filter(agent => agent.installed)
  const facts = [
    version === '' ? 'Not heard since this server listens' : `${role}, Chirality ${version}`,
    ...(copies ? [] : ['Sends no copies: when it is gone, none of its sessions goes on elsewhere']),
    ...(labels.length > 0 ? [`Labels: ${labels.join(', ')}`] : []),
    ...(projects.length > 0 ? [`Projects: ${projects.join(', ')}`] : []),
    ...installed.map(
      ({ name, version: of, loggedIn }) => `${name}${of ? ` ${of}` : ''}${loggedIn ? '' : ', not logged in'}`,
    ),
  ]
  return (
    <ul className="machine__facts">
      {facts.map(fact => (
        <li key={fact}>{fact}</li>
      ))}
      {key === null ? null : (
        <li>
          Key <code className="machine__key">{key}</code>
        </li>
      )}
    </ul>
  )
}

/** Choice whether hubs get copies of this machine's sessions, with its consequence. */
function CopiesSwitch({ copies: { sends, isFixed } }: Pick<FleetInfo, 'copies'>) {
  const client = useClient()
  const askAgain = useAskAgain()
  const choose = async (send: boolean) => {
    await client.fleet.sendCopies.mutate({ send }).catch((error: unknown) => toasts.error(messageOf(error)))
    await askAgain(client.fleet.info.queryFilter(), client.fleet.machines.queryFilter())
  }
  return (
    <label className="machine__copies">
      <input
        type="checkbox"
        checked={sends}
        disabled={isFixed}
        onChange={({ target }) => void choose(target.checked)}
      />
      <span>
        Send copies to the hubs after each turn
        <small>
          {isFixed
            ? 'This server was started with --no-copies.'
            : 'Changed files that git does not ignore, commits, and the conversation of the agent. Without them, no other machine can go on with a session when this one is gone.'}
        </small>
      </span>
    </label>
  )
}

/** Takes the rights of a machine away, or forgets one that has none. Asked twice: neither can be undone. */
function TakeOut({ machine: { machine, hasKey } }: { machine: Machine }) {
  const client = useClient()
  const askAgain = useAskAgain()
  const [asking, setAsking] = useState(false)
  const { verb, question, act, done } = hasKey
    ? {
        verb: 'Revoke',
        question: 'It has to be invited again afterwards.',
        act: () => client.fleet.revoke.mutate({ machine }),
        done: `${machine} can no longer connect. Its sessions can still be read.`,
      }
    : {
        verb: 'Forget',
        question: 'Its sessions, logs and copies go from all hubs. Its own files stay.',
        act: () => client.fleet.forget.mutate({ machine }),
        done: `${machine} is forgotten.`,
      }
  const takeOut = async () => {
    setAsking(false)
    try {
      await act()
      toasts.info(done)
    } catch (error) {
      toasts.error(messageOf(error))
    }
    await askAgain(client.fleet.machines.queryFilter())
  }
  return (
    <span className="machine__foot">
      {asking ? (
        <>
          <span>{question}</span>
          <Button size="small" look="quiet" onClick={() => setAsking(false)}>
            Cancel
          </Button>
          <Button size="small" look="danger" onClick={() => void takeOut()}>
            {`${verb} ${machine}`}
          </Button>
        </>
      ) : (
        <Button size="small" aria-label={`${verb} ${machine}…`} onClick={() => setAsking(true)}>
          {`${verb}…`}
        </Button>
      )}
    </span>
  )
}
