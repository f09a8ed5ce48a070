import type { AlwaysRule } from '@chirality/core'
import { useEffect, useId, useRef } from 'react'
import { projectName } from '../../app/project.ts'
import { useStatus } from '../../state/fleet/use-fleet.ts'
import { leave } from '../../ui/keys/leave.ts'
import { Words } from '../../ui/marks/Empty.tsx'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { alwaysWords } from '../settings/rule-words.ts'

/** How long the rule holds: what the server keeps for the session, or writes into the user's policy for the project. */
export type AlwaysScope = 'session' | 'always'

interface AlwaysScopesProps {
  sessionId: string
  always: AlwaysRule
  scope: AlwaysScope
  onScope(scope: AlwaysScope): void
  onRemember(): void
  onBack(): void
}

/** Choice of what "always" allows and for how long, inside the card so that the call stays in view. */
export function AlwaysScopes({ sessionId, always, scope, onScope, onRemember, onBack }: AlwaysScopesProps) {
  const group = useId()
  const chosen = useRef<HTMLInputElement>(null)
  const root = useStatus(sessionId)?.projectRoot
  const scopes: readonly [AlwaysScope, string][] = [
    ['session', 'in this session'],
    ['always', root ? `in ${projectName(root)}, in every session` : 'in this project, in every session'],
  ]
  // Opened by a key or a click just now. Drawn anew it must not take the focus from another field.
  useEffect(() => {
    if (document.activeElement === document.body || chosen.current?.closest('.decision:focus-within'))
      chosen.current?.focus({ preventScroll: true })
  }, [])
  return (
    <fieldset
      className="scopes"
      onKeyDown={event => {
        if (event.key === 'Escape') leave(event, onBack)
        if (event.key !== 'Enter' || event.repeat) return
        event.preventDefault()
        onRemember()
      }}
    >
      <legend>Allow without asking, from now on</legend>
      {scopes.map(([value, where]) => (
        <label key={value} className="scopes__scope">
          <input
            ref={value === scope ? chosen : null}
            type="radio"
            name={group}
            checked={value === scope}
            onChange={() => onScope(value)}
          />
          <span className="scopes__what">
            <Words text={alwaysWords(always)} />
          </span>
          <span className="scopes__where">{where}</span>
        </label>
      ))}
      <RuleText {...always} />
      <p className="decision__fine">
        {scope === 'session'
          ? 'Nothing is written. It is forgotten when the session is closed or the server stops.'
          : 'Take it back in Settings, Permissions.'}
      </p>
    </fieldset>
  )
}

/** The whole of it, word for word. A long one scrolls: the buttons must stay in reach. */
function RuleText({ rule, words }: AlwaysRule) {
  const text = `The rule is "${rule}": ${words}.`
  if (rule.length <= SHORT_RULE_CHARS) return <p className="decision__fine">{text}</p>
  return (
    <ScrollRegion className="decision__fine decision__fine--long" label="The rule">
      {text}
    </ScrollRegion>
  )
}

const SHORT_RULE_CHARS = 120
