import type { PermissionRequestEvent } from '@chirality/core'
import { memo, use, useState } from 'react'
import { awayWords } from '../../app/project.ts'
import { useStatus } from '../../state/fleet/use-fleet.ts'
import { useClient } from '../../state/server/use-client.ts'
import { SessionContext } from '../../state/session/use-session.ts'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { DangerDecision } from './DangerDecision.tsx'
import type { DecisionProps } from './DecisionFrame.tsx'
import { dropDecisionDraft } from './decision-drafts.ts'
import { PlanDecision } from './PlanDecision.tsx'
import { QuestionDecision } from './QuestionDecision.tsx'
import { ToolDecision } from './ToolDecision.tsx'
import { UnknownDecision } from './UnknownDecision.tsx'
import './decision.css'

/** Request of the agent, in the conversation. Removed when the log says that it was settled, whoever settled it. */
export const DecisionCard = memo(function DecisionCard({ request }: { request: PermissionRequestEvent }) {
  const client = useClient()
  const [isSent, setSent] = useState(false)
  // The frame says why.
  const busy = awayWords(useStatus(request.sessionId)?.machine) !== null || isSent
  // Answered from elsewhere, what goes wrong is said there.
  const sessionId = use(SessionContext)?.sessionId
  const answer: DecisionProps['answer'] = (decision, after) => {
    if (busy) return
    setSent(true)
    const tell = (error: unknown) => toasts.error(messageOf(error), sessionId)
    client.decisions.answer
      .mutate({ sessionId: request.sessionId, requestId: request.requestId, decision })
      .then(
        () => {
          dropDecisionDraft(request.requestId)
          after?.().catch(tell)
        },
        (error: unknown) => {
          setSent(false)
          tell(error)
        },
      )
  }
  const props = { request, busy, answer }
  switch (request.kind) {
    case 'tool':
      return request.risks?.length ? <DangerDecision {...props} /> : <ToolDecision {...props} />
    case 'question':
      return <QuestionDecision {...props} />
    case 'plan':
      return <PlanDecision {...props} />
    case 'unknown':
      return <UnknownDecision {...props} />
  }
})
