import { asOf } from '@chirality/client/queries'
import { factsOf, type PermissionRequestEvent } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useRef } from 'react'
import { DiffView } from '../../diff/DiffView.tsx'
import type { FileDiff } from '../../diff/file-diff.ts'
import { askedEdits, placedEdit } from '../../diff/tool-edits.ts'
import { useStatus } from '../../state/fleet/use-fleet.ts'
import { useClient } from '../../state/server/use-client.ts'
import { filePlace } from '../../state/server/work-place.ts'
import { useProjectRoot } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { decisionTitle } from '../../words/decision.logic.ts'
import { relative } from '../../words/tool-summary.logic.ts'
import { type AlwaysScope, AlwaysScopes } from './AlwaysScopes.tsx'
import { ButtonKeys, DecisionFrame, type DecisionProps, KeysSpacer, useKeysShown } from './DecisionFrame.tsx'
import { DenyForm } from './DenyForm.tsx'
import { useDecisionDraft } from './decision-drafts.ts'
import { EditForm } from './EditForm.tsx'
import { readAgain, useDecisionKeys } from './use-decision-keys.ts'

export function ToolDecision({ request, busy, answer }: DecisionProps) {
  const [form, setForm] = useDecisionDraft<'edit' | 'deny' | 'always' | null>(request.requestId, 'form', null)
  const [scope, setScope] = useDecisionDraft<AlwaysScope>(request.requestId, 'scope', 'always')
  const { always: offered } = request
  const allow = () => answer({ behavior: 'allow' })
  const remember = () => answer({ behavior: 'allow', remember: scope })
  const openAlways = () => {
    setForm('always')
    readAgain()
  }
  const isOpen = form === 'always' && offered !== undefined
  const card = useRef<HTMLElement>(null)
  const hasKeys = useDecisionKeys(card, {
    allow,
    always: isOpen ? remember : offered && openAlways,
    edit: () => setForm('edit'),
    deny: () => setForm('deny'),
    enabled: (form === null || isOpen) && !busy,
  })
  const shown = useKeysShown(hasKeys)
  const { purpose } = factsOf(request)
  return (
    <DecisionFrame ref={card} request={request} title={decisionTitle(request)} reason={request.reason}>
      {form === 'edit' ? (
        <EditForm request={request} busy={busy} answer={answer} onBack={() => setForm(null)} />
      ) : (
        <>
          <Asked request={request} />
          {purpose ? <p className="decision__reason">{`“${purpose}”`}</p> : null}
          {form === 'deny' ? (
            <DenyForm request={request} busy={busy} answer={answer} onBack={() => setForm(null)} />
          ) : (
            <>
              {isOpen ? (
                <AlwaysScopes
                  sessionId={request.sessionId}
                  always={offered}
                  {...{ scope, onScope: setScope, onRemember: remember, onBack: () => setForm(null) }}
                />
              ) : null}
              <div className="decision__row">
                <Button look="quiet" disabled={busy} onClick={() => setForm('deny')}>
                  Deny…
                  <ButtonKeys shown={shown} keys="D" />
                </Button>
                <Button look="quiet" disabled={busy} onClick={() => setForm('edit')}>
                  Edit
                  <ButtonKeys shown={shown} keys="E" />
                </Button>
                <KeysSpacer shown={shown} />
                {offered && !isOpen ? (
                  <Button
                    className="decision__wide"
                    disabled={busy}
                    aria-expanded={false}
                    onClick={openAlways}
                  >
                    Always…
                    <ButtonKeys shown={shown} keys="⇧ A" />
                  </Button>
                ) : null}
                <Button
                  className="decision__wide"
                  look={isOpen ? 'plain' : 'primary'}
                  disabled={busy}
                  onClick={allow}
                >
                  Allow once
                  <ButtonKeys shown={shown} keys="A" />
                </Button>
                {isOpen ? (
                  <Button look="primary" disabled={busy} onClick={remember}>
                    Allow and remember
                    <ButtonKeys shown={shown} keys="⇧ A" />
                  </Button>
                ) : null}
              </div>
            </>
          )}
        </>
      )}
    </DecisionFrame>
  )
}

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

/** Edits of the request against the file as it is now; by its input alone where the file cannot be read. */
function usePlacedEdits(
  request: PermissionRequestEvent,
  asked: readonly FileDiff[],
  project: string,
): readonly FileDiff[] {
  const client = useClient()
  const { requestId, sessionId } = request
  const status = useStatus(sessionId)
  const fallback = { projectRoot: project, sessionId }
  const [only, ...more] = factsOf(request).edits ?? []
  const isUnplaced = only !== undefined && more.length === 0 && only.hunks === undefined
  const path = isUnplaced ? relative(only.path, project) : undefined
  // A file that is not there yet is an error, and leaves the request as it was asked.
  const { data } = useQuery(
    asOf(
      client.files.read.queryOptions(
        { ...filePlace(status ?? fallback), path: path ?? '' },
        {
          enabled: path !== undefined && project !== '',
          staleTime: Number.POSITIVE_INFINITY,
          gcTime: 0,
          retry: false,
        },
      ),
      requestId,
    ),
  )
  return useMemo(() => {
    const whole = data?.kind === 'text' && !data.truncated ? data.text : null
    const [edit] = factsOf(request).edits ?? []
    const placed = whole === null || edit === undefined ? undefined : placedEdit(edit, whole)
    return placed ? [placed] : asked
  }, [data, asked, request])
}
