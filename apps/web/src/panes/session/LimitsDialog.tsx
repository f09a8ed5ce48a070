import { useState } from 'react'
import { useStatus } from '../../state/fleet/use-fleet.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useClient, useHarness } from '../../state/server/use-client.ts'
import { useSettings, useSettingsChanged } from '../../state/session/use-settings.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatCost, formatCount } from '../../ui/text/format.ts'
import { offers } from '../sidebar/new-session.logic.ts'

/** Limits of a session: its total spending, and the steps of one turn. */
export default function LimitsDialog({ sessionId, onClose }: { sessionId: string; onClose(): void }) {
  const status = useStatus(sessionId)
  if (!status) return null
  return (
    <Dialog title="Limits of this session" onClose={onClose}>
      <Limits status={status} onClose={onClose} />
    </Dialog>
  )
}

function Limits({ status, onClose }: { status: SessionStatus; onClose(): void }) {
  const client = useClient()
  const { sessionId, costUsd, costIsEstimate, tokens } = status
  const can = offers(useHarness(status.harness))
  const { maxTurns } = useSettings(sessionId)
  const changed = useSettingsChanged(sessionId)
  const [typed, setTyped] = useState<Partial<Record<Name, string>>>({})
  const [problem, setProblem] = useState<string | null>(null)
  const now: Record<Name, number | null> = {
    usd: status.budgetUsd,
    tokens: status.budgetTokens,
    minutes: status.budgetMinutes,
    steps: maxTurns ?? null,
  }
  const textOf = (name: Name) => typed[name] ?? (now[name] === null ? '' : String(now[name]))
  const wanted = (name: Name) => (textOf(name).trim() === '' ? null : Number(textOf(name)))
  const wrong = FIELDS.find(({ name, whole }) => {
    const value = wanted(name)
    return value !== null && !(value > 0 && (!whole || Number.isSafeInteger(value)))
  })
  const save = async () => {
    if (wrong) return setProblem(`${wrong.label} is a number above 0, or empty for no limit.`)
    try {
      await client.budgets.setSession.mutate({
        sessionId,
        budgetUsd: wanted('usd'),
        budgetTokens: wanted('tokens'),
        budgetMinutes: wanted('minutes'),
      })
      if (wanted('steps') !== now.steps)
        await client.sessions.configure.mutate({ sessionId, maxTurns: wanted('steps') })
      changed()
      onClose()
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <form
      className="session-dialog"
      onSubmit={event => {
        event.preventDefault()
        void save()
      }}
    >
      <p>
        {`So far: ${costUsd === null ? '' : `${formatCost(costUsd, costIsEstimate)}, `}${formatCount(tokens)} tokens. `}
        Where a budget ends, the turn stops, says so, and can go on when you raise it.
      </p>
      {FIELDS.filter(({ name }) => name !== 'steps' || can.maxTurns).map(({ name, label, hint }, index) => (
        <Field key={name} label={label} hint={hint}>
          {id => (
            <input
              id={id}
              className="input"
              inputMode="decimal"
              placeholder={name === 'steps' && status.mode === 'pipeline' ? '25' : 'none'}
              value={textOf(name)}
              data-first={index === 0 ? true : undefined}
              onChange={event => {
                setTyped(known => ({ ...known, [name]: event.target.value }))
                setProblem(null)
              }}
            />
          )}
        </Field>
      ))}
      {problem ? <p role="alert">{problem}</p> : null}
      <div className="session-dialog__foot">
        <Button look="quiet" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" look="primary">
          Save
        </Button>
      </div>
    </form>
  )
}

type Name = 'usd' | 'tokens' | 'minutes' | 'steps'

const FIELDS: readonly { name: Name; label: string; hint?: string; whole?: true }[] = [
  { name: 'usd', label: 'Budget in $' },
  { name: 'tokens', label: 'Budget in tokens', whole: true },
  { name: 'minutes', label: 'Budget in minutes', hint: 'Without the time it waits for you.' },
  { name: 'steps', label: 'Step limit of a turn', hint: 'From the next message.', whole: true },
]
