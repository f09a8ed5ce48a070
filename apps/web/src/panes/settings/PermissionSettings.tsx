import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { RuleFile } from '../../state/server/answers.ts'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Words } from '../../ui/marks/Empty.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { useProjectChoice } from './ProjectChoice.tsx'
import { matchesRule, ruleWords } from './rule-words.ts'
import { SettingsHead } from './SettingsHead.tsx'

/** Rules of a project: what agents may do unasked or never, where each rule is written, and its removal. */
export function PermissionSettings() {
  const client = useClient()
  const [text, setText] = useState('')
  const { project, field, placeholder } = useProjectChoice()
  const { data, error } = useQuery(
    client.rules.list.queryOptions({ project }, { enabled: project !== '', staleTime: 0, retry: false }),
  )
  return (
    <>
      <SettingsHead
        title="Permissions"
        about="Rules that answer for you. The first that fits a call decides; without one, the agent asks."
      />
      {project === '' ? (
        field
      ) : (
        <div className="settings__filter">
          {field}
          <input
            className="input"
            type="search"
            aria-label="Find a rule"
            placeholder="Find a rule"
            value={text}
            onChange={event => setText(event.target.value)}
          />
        </div>
      )}
      {placeholder({ isRead: data !== undefined, error, lines: 6, label: 'Reading the rules' })}
      {data?.map(file => (
        <RuleFileCard key={file.kind} project={project} file={file} text={text} />
      ))}
    </>
  )
}

const ORIGINS: Readonly<Record<RuleFile['kind'], { title: string; scope?: 'project' | 'global' }>> = {
  'user-persona': { title: 'Yours, for one persona' },
  'user-project': { title: 'Yours, for this project', scope: 'project' },
  'user-global': { title: 'Yours, for every project', scope: 'global' },
  persona: { title: 'Of the persona' },
  project: { title: 'Of the project itself' },
}

function RuleFileCard({ project, file, text }: { project: string; file: RuleFile; text: string }) {
  const client = useClient()
  const askAgain = useAskAgain()
  const [busy, setBusy] = useState(false)
  const { title, scope } = ORIGINS[file.kind]
  const rules = file.rules.filter(rule => matchesRule(rule, text))
  const remove = async (rule: RuleFile['rules'][number], of: 'project' | 'global') => {
    setBusy(true)
    try {
      await client.rules.remove.mutate({ project, scope: of, line: rule.line, text: rule.text })
      toasts.info(`Taken back: ${rule.text}`)
    } catch (error) {
      toasts.error(messageOf(error))
    } finally {
      await askAgain(client.rules.list.queryFilter({ project }))
      setBusy(false)
    }
  }
  return (
    <section aria-label={title}>
      <h2 className="settings__group">
        {title} <span className="number">{file.rules.length}</span>
      </h2>
      <ul className="settings__card">
        {file.problems.map(({ line, message }) => (
          <li key={`${line} ${message}`} className="settings__row settings__row--bad" role="alert">
            {`${line > 0 ? `Line ${line}: ` : ''}${message} None of its rules counts, and everything asks.`}
          </li>
        ))}
        {rules.map(rule => {
          const counts = rule.effect !== 'allow' || file.trusted
          return (
            <li key={rule.line} className="settings__row">
              <span className={`rule-effect rule-effect--${rule.effect}`}>{EFFECTS[rule.effect]}</span>
              <span className="settings__what settings__what--fill">
                <span className="settings__rule">
                  <Words text={ruleWords(rule)} />
                </span>
                <span>{counts ? `line ${rule.line}` : 'does not count: only your own files can allow'}</span>
              </span>
              {scope ? (
                <Button
                  size="small"
                  disabled={busy}
                  aria-label={`Take back ${rule.text}`}
                  onClick={() => void remove(rule, scope)}
                >
                  Take back
                </Button>
              ) : null}
            </li>
          )
        })}
        {rules.length === 0 && file.problems.length === 0 ? (
          <li className="settings__row settings__none">
            {file.rules.length > 0 ? 'No rule fits.' : 'No rules.'}
          </li>
        ) : null}
      </ul>
      <p className="settings__file">{file.file}</p>
    </section>
  )
}

const EFFECTS = { allow: 'Allowed', ask: 'Asked', deny: 'Denied' } as const
