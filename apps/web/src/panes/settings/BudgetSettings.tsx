import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Budget, ProjectBudgetChange } from '../../state/server/answers.ts'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Form } from '../../ui/controls/Form.tsx'
import { Meter } from '../../ui/marks/Meter.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatCount, formatUsd } from '../../ui/text/format.ts'
import { useProjectChoice } from './ProjectChoice.tsx'
import { SettingsHead } from './SettingsHead.tsx'

/** Limits for all sessions of a project together. */
export function BudgetSettings() {
  const client = useClient()
  const { project, field, placeholder } = useProjectChoice()
  const { data, error } = useQuery(
    client.budgets.get.queryOptions(
      { project },
      {
        enabled: project !== '',
        staleTime: 0,
        gcTime: 0,
        retry: false,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
      },
    ),
  )
  return (
    <>
      <SettingsHead
        title="Budgets"
        about="What all sessions and loops of a project may spend together. At a limit the turn stops and says so, and goes on when you raise it."
      />
      {field}
      {placeholder({ isRead: data !== undefined, error, lines: 3, label: 'Reading the budget' })}
      {data ? <BudgetForm key={project} project={project} budget={data} /> : null}
    </>
  )
}

function BudgetForm({ project, budget }: { project: string; budget: Budget }) {
  const client = useClient()
  const askAgain = useAskAgain()
  const [typed, setTyped] = useState<Partial<Record<Name, string>>>({})
  const [failure, setFailure] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const limits: Record<Name, number | null> = {
    maxCostUsd: budget.max_cost_usd,
    maxTokens: budget.max_tokens,
    maxMinutes: budget.max_minutes,
  }
  const textOf = (name: Name) => typed[name] ?? (limits[name] === null ? '' : String(limits[name]))
  const save = async () => {
    if (isBusy) return
    const changes: ProjectBudgetChange = {}
    for (const { name, label, isWhole } of LIMITS) {
      const text = textOf(name).trim()
      const limit = text === '' ? null : Number(text)
      if (limit !== null && !(limit > 0 && (!isWhole || Number.isSafeInteger(limit))))
        return setFailure(`${label}: a number above 0, or empty for no limit.`)
      if (limit !== limits[name]) changes[name] = limit
    }
    setBusy(true)
    setFailure(null)
    try {
      await client.budgets.set.mutate({ project, ...changes })
      await askAgain(client.budgets.get.queryFilter({ project }))
      setTyped({})
      toasts.info('Saved')
    } catch (error) {
      setFailure(messageOf(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <Form
      label="Limits of this project"
      className="budget-form"
      failure={failure}
      onSend={() => void save()}
      foot={
        <Button type="submit" look="primary" disabled={isBusy}>
          Save
        </Button>
      }
    >
      <div className="settings__card">
        {LIMITS.map(({ name, label, spent, say: sayIn }) => {
          const spentNow = spent(budget)
          const used = { amount: spentNow, words: sayIn(spentNow) }
          const limit = limits[name]
          return (
            <div key={name} className="settings__row budget-row">
              <span className="settings__what">
                <b>{label}</b>
                <span>{`${used.words} so far${limit === null ? ', no limit' : ''}`}</span>
              </span>
              <input
                className="input budget-row__limit"
                inputMode="decimal"
                placeholder="none"
                aria-label={`Limit: ${label}`}
                value={textOf(name)}
                onChange={event => {
                  setTyped(known => ({ ...known, [name]: event.target.value }))
                  setFailure(null)
                }}
              />
              {limit === null ? null : (
                <Meter label={`${used.words} of ${sayIn(limit)}`} value={used.amount} max={limit} />
              )}
            </div>
          )
        })}
      </div>
    </Form>
  )
}

type Name = 'maxCostUsd' | 'maxTokens' | 'maxMinutes'

interface Limit {
  name: Name
  label: string
  isWhole?: true
  /** On all machines that work on the project: the limit counts them together. */
  spent(budget: Budget): number
  say(amount: number): string
}

const LIMITS: readonly Limit[] = [
  {
    name: 'maxCostUsd',
    label: 'Dollars',
    say: formatUsd,
    spent: budget => budget.elsewhere.reduce((sum, { usd }) => sum + (usd ?? 0), budget.total_cost_usd),
  },
  {
    name: 'maxTokens',
    label: 'Tokens',
    isWhole: true,
    say: formatCount,
    spent: budget => budget.elsewhere.reduce((sum, { tokens }) => sum + tokens, budget.total_tokens),
  },
  {
    name: 'maxMinutes',
    label: 'Minutes of work',
    say: amount => `${Math.round(amount)} min`,
    spent: budget => budget.elsewhere.reduce((sum, { minutes }) => sum + minutes, budget.total_minutes),
  },
]
