import { type AlwaysRule, factsOf, type PermissionRequestEvent } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useRef } from 'react'
import { DiffView } from '../../diff/DiffView.tsx'
import type { FileDiff } from '../../diff/file-diff.ts'
import { askedEdits, placedEdit } from '../../diff/tool-edits.ts'
import { useApi } from '../../state/server/use-api.ts'
import { useProjectRoot } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { relative } from '../chat/tool-summary.logic.ts'
import { DecisionFrame, type DecisionProps, KeyHint } from './DecisionFrame.tsx'
import { DenyForm } from './DenyForm.tsx'
import { decisionTitle } from './decision.logic.ts'
import { useDecisionDraft } from './decision-drafts.ts'
import { EditForm } from './EditForm.tsx'
import { useDecisionKeys } from './use-decision-keys.ts'

export function ToolDecision({ request, busy, answer }: DecisionProps) {
  const [form, setForm] = useDecisionDraft<'edit' | 'deny' | null>(request.requestId, 'form', null)
  const { always: offered } = request
  const allow = () => answer({ behavior: 'allow' })
  const always = () => offered !== undefined && answer({ behavior: 'allow', remember: 'always' })
  const card = useRef<HTMLElement>(null)
  const hasKeys = useDecisionKeys(card, {
    allow,
    always,
    edit: () => setForm('edit'),
    deny: () => setForm('deny'),
    enabled: form === null && !busy,
  })
  return (
    <DecisionFrame
      ref={card}
      sessionId={request.sessionId}
      title={decisionTitle(request)}
      reason={request.reason ?? factsOf(request).purpose}
    >
      {form === 'edit' ? (
        <EditForm request={request} busy={busy} answer={answer} onBack={() => setForm(null)} />
      ) : (
        <>
          <Asked request={request} />
          {form === 'deny' ? (
            <DenyForm request={request} busy={busy} answer={answer} onBack={() => setForm(null)} />
          ) : (
            <>
              <div className="decision__row">
                <Button look="primary" disabled={busy} onClick={allow}>
                  Allow
                </Button>
                {offered ? (
                  <Button disabled={busy} onClick={always} title={offered.rule}>
                    <span className="decision__rule">{`Always: ${shortRule(offered.rule)}`}</span>
                  </Button>
                ) : null}
                <Button look="quiet" disabled={busy} onClick={() => setForm('edit')}>
                  Edit
                </Button>
                <Button look="quiet" disabled={busy} onClick={() => setForm('deny')}>
                  Deny…
                </Button>
              </div>
              <div className="decision__foot">
                {offered ? <Rule {...offered} /> : null}
                <span className="spacer" />
                <KeyHint shown={hasKeys} keys="A · Shift A · E · D" />
              </div>
            </>
          )}
        </>
      )}
    </DecisionFrame>
  )
}

/** The whole of it, word for word. A long one scrolls: the buttons must stay in reach. */
function Rule({ rule, words }: AlwaysRule) {
  const text = `Always writes "${rule}": ${words}`
  if (rule.length <= SHORT_RULE_CHARS) return <p className="decision__fine">{text}</p>
  return (
    <ScrollRegion className="decision__fine decision__fine--long" label="The rule">
      {text}
    </ScrollRegion>
  )
}

const SHORT_RULE_CHARS = 120

export function Asked({ request }: Pick<DecisionProps, 'request'>) {
  const edits = askedEdits(request)
  if (edits.length > 0) return <AskedEdits request={request} asked={edits} />
  const text = factsOf(request).command ?? JSON.stringify(request.input, null, 2)
  return (
    <ScrollRegion className="decision__asked" label="What is asked for">
      <pre>{text}</pre>
    </ScrollRegion>
  )
}

function AskedEdits({ request, asked }: Pick<DecisionProps, 'request'> & { asked: readonly FileDiff[] }) {
  const cwd = useProjectRoot()
  return usePlacedEdits(request, asked, cwd).map(edit => (
    <div key={edit.path} className="decision__diff">
      <p className="tool__path">{relative(edit.path, cwd)}</p>
      {edit.hunks.length === 0 ? <p className="decision__fine">{NO_LINES}</p> : <DiffView diff={edit} />}
    </div>
  ))
}

const NO_LINES = 'No line of the file changes.'

/** `allow Bash(npm test *)` is `npm test *` on the button; the whole rule stands below it. */
function shortRule(rule: string): string {
  return /^allow \w+\(([\s\S]+)\)$/.exec(rule)?.[1] ?? rule.replace(/^allow /, '')
}

/** What the request would change, against the file as it is now; by its input alone where the file cannot be read. */
function usePlacedEdits(
  request: PermissionRequestEvent,
  asked: readonly FileDiff[],
  project: string,
): readonly FileDiff[] {
  const api = useApi()
  const { requestId } = request
  const [only, ...more] = factsOf(request).edits ?? []
  const isUnplaced = only !== undefined && more.length === 0 && only.hunks === undefined
  const path = isUnplaced ? relative(only.path, project) : undefined
  const { data } = useQuery({
    queryKey: ['asked-file', requestId, path],
    // No file yet is an answer like any other.
    queryFn: () => api.readFile(project, path ?? '').catch(() => null),
    enabled: path !== undefined && project !== '',
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  })
  return useMemo(() => {
    const whole = data && data.note === null ? data.text : null
    const [edit] = factsOf(request).edits ?? []
    const placed = whole === null || edit === undefined ? undefined : placedEdit(edit, whole)
    return placed ? [placed] : asked
  }, [data, asked, request])
}
