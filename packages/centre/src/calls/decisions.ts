import { z } from 'zod'
import { mutation, query } from '../call.ts'
import { answerDecision, pendingDecisions } from '../sessions/live-session.ts'
import { pendingDecision } from '../shapes/sessions.ts'
import { decisionAnswer, nothing, ofSession } from '../shapes/values.ts'

export const decisionCalls = {
  pending: query({
    about: 'Lists the requests of agents that wait for an answer, oldest first.',
    input: ofSession,
    output: z.array(pendingDecision),
    where: 'mirror',
    run: (centre, input) => pendingDecisions(centre, input?.sessionId),
  }),

  answer: mutation({
    about: 'Allows or denies what an agent asks. The first answer counts.',
    input: decisionAnswer,
    output: nothing,
    where: 'owner',
    run: (centre, input) => answerDecision(centre, input),
  }),
}
