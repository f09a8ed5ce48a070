import type { PendingDecision } from '@chirality/sessions'
import { z } from 'zod'
import { answer, sessionId } from './inputs.ts'
import { answerDecision, pendingDecisions } from './live-session.ts'
import { procedure, router } from './trpc.ts'

export const decisionsRouter = router({
  /** What waits for a person, oldest first. */
  pending: procedure
    .input(z.strictObject({ sessionId: sessionId.optional() }).optional())
    .query(({ ctx, input }): Promise<PendingDecision[]> => pendingDecisions(ctx, input?.sessionId)),

  answer: procedure.input(answer).mutation(({ ctx, input }) => answerDecision(ctx, input)),
})
