import type { BudgetItem } from '@chirality/core'
import { useId, useState } from 'react'
import { awayWords } from '../../app/project.ts'
import { useStatus } from '../../state/fleet/use-fleet.ts'
import { useClient } from '../../state/server/use-client.ts'
import { useSessionActions, useSessionStore } from '../../state/session/use-session.ts'

/** Message of the budget that stopped the turn, with a field to raise it. */
export function BudgetLine({ item }: { item: BudgetItem }) {
  if (!item.exceeded)
    return (
      <p className="quiet-line" data-seq={item.seq}>
        {item.message}
      </p>
    )
  return (
    <div className="error-line" role="alert" data-seq={item.seq}>
      <span className="error-line__text">{item.message}</span>
      {item.scope === 'turn' ? null : <RaiseBudget item={item} />}
    </div>
  )
}

/** Unit of the budget: its words, and the fields of the two calls that raise it. */
function unitOf(item: BudgetItem): Unit {
  if (item.limitTokens !== undefined)
    return { words: 'tokens', limit: item.limitTokens, session: 'budgetTokens', project: 'maxTokens' }
  if (item.limitMs !== undefined)
    return { words: 'minutes', limit: item.limitMs / 60_000, session: 'budgetMinutes', project: 'maxMinutes' }
  return { words: 'dollars', limit: item.limitUsd ?? 0, session: 'budgetUsd', project: 'maxCostUsd' }
}

interface Unit {
  words: string
  limit: number
  session: 'budgetUsd' | 'budgetTokens' | 'budgetMinutes'
  project: 'maxCostUsd' | 'maxTokens' | 'maxMinutes'
}

function RaiseBudget({ item }: { item: BudgetItem }) {
  const client = useClient()
  const actions = useSessionActions()
  const { sessionId } = useSessionStore().get().state
  const { projectRoot, machine } = useStatus(sessionId) ?? {}
  const away = awayWords(machine)
  const { words, limit, ...field } = unitOf(item)
  const id = useId()
  const [amount, setAmount] = useState(String(limit * 2))
  const [said, setSaid] = useState<string | null>(null)
  const wanted = Number(amount)
  const raise = async () => {
    try {
      if (item.scope === 'project') {
        if (projectRoot === undefined) return
        await client.budgets.set.mutate({ project: projectRoot, [field.project]: wanted })
      } else {
        await client.budgets.setSession.mutate({ sessionId, [field.session]: wanted })
      }
      setSaid('Raised. It goes on.')
      actions.goOn?.(item.turnId)
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <form
      className="error-line__help raise-budget"
      onSubmit={event => {
        event.preventDefault()
        void raise()
      }}
    >
      <div className="field">
        <label
          htmlFor={id}
        >{`Budget of the ${item.scope === 'project' ? 'project' : 'session'} in ${words}`}</label>
        <input
          id={id}
          type="number"
          min={limit}
          step="any"
          value={amount}
          onChange={event => setAmount(event.target.value)}
        />
      </div>
      <button type="submit" className="button" disabled={!(wanted > limit) || away !== null}>
        Raise and go on
      </button>
      {away ? <span>{`${away}: it can be raised when it is back.`}</span> : null}
      {said ? <span role="status">{said}</span> : null}
    </form>
  )
}
