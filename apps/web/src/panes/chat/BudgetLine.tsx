import type { BudgetItem } from '@chirality/core'
import { useState } from 'react'
import { useApi } from '../../state/use-api.ts'
import { useStatus } from '../../state/use-fleet.ts'
import { useSessionStore } from '../../state/use-session.ts'

/** What a budget says where it stopped the turn, and the place to raise it. */
export function BudgetLine({ item }: { item: BudgetItem }) {
  if (!item.exceeded) return <p className="quiet-line">{item.message}</p>
  return (
    <div className="error-line" role="alert">
      <span className="error-line__text">{item.message}</span>
      {item.scope === 'turn' ? null : <RaiseBudget item={item} />}
    </div>
  )
}

function RaiseBudget({ item }: { item: BudgetItem }) {
  const api = useApi()
  const { sessionId } = useSessionStore().get().state
  const projectRoot = useStatus(sessionId)?.projectRoot
  const inTokens = item.limitTokens !== undefined
  const limit = item.limitTokens ?? item.limitUsd ?? 0
  const [amount, setAmount] = useState(String(limit * 2))
  const [said, setSaid] = useState<string | null>(null)
  const wanted = Number(amount)
  const raise = async () => {
    try {
      if (item.scope === 'project') {
        if (projectRoot === undefined) return
        await api.setProjectBudget(projectRoot, inTokens ? { maxTokens: wanted } : { maxCostUsd: wanted })
      } else {
        await api.setSessionBudget(sessionId, inTokens ? { budgetTokens: wanted } : { budgetUsd: wanted })
      }
      setSaid('Raised. Send a message to go on.')
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <form
      className="error-line__help"
      onSubmit={event => {
        event.preventDefault()
        void raise()
      }}
    >
      <label>
        {`Budget of the ${item.scope === 'project' ? 'project' : 'session'} in ${inTokens ? 'tokens' : 'dollars'} `}
        <input
          type="number"
          min={limit}
          step="any"
          value={amount}
          onChange={event => setAmount(event.target.value)}
        />
      </label>{' '}
      <button type="submit" className="button" disabled={!(wanted > limit)}>
        Raise the budget
      </button>
      {said ? <span role="status">{` ${said}`}</span> : null}
    </form>
  )
}
