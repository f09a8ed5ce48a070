import type { ContextUsage } from '@chirality/core'
import type { LiveSession, PendingDecision, QueuedMessage } from '@chirality/sessions'
import { z } from 'zod'
import type { TurnLeftovers } from '../system/stopped-turns.ts'
import { answer, bySession, message, permissionMode, sessionId, turnInput, turnOptions } from './inputs.ts'
import { answerDecision, liveSession, pendingDecisions } from './live-session.ts'
import { procedure, router } from './trpc.ts'

const queueEntry = z.string().min(1).max(64)
const inSession = procedure.input(bySession).use(async ({ ctx, input, next }) => {
  return next({ ctx: { session: await liveSession(ctx, input.sessionId) } })
})

export interface QueueState {
  messages: QueuedMessage[]
  held: boolean
}

const queueRouter = router({
  list: inSession.query(({ ctx }): QueueState => queueOf(ctx.session)),

  edit: procedure
    .input(z.strictObject({ sessionId, id: queueEntry, message }))
    .mutation(async ({ ctx, input }): Promise<QueueState> => {
      const session = await liveSession(ctx, input.sessionId)
      await session.queue.edit(input.id, input.message)
      return queueOf(session)
    }),

  move: procedure
    .input(z.strictObject({ sessionId, id: queueEntry, index: z.int().nonnegative() }))
    .mutation(async ({ ctx, input }): Promise<QueueState> => {
      const session = await liveSession(ctx, input.sessionId)
      await session.queue.move(input.id, input.index)
      return queueOf(session)
    }),

  remove: procedure
    .input(z.strictObject({ sessionId, id: queueEntry }))
    .mutation(async ({ ctx, input }): Promise<QueueState> => {
      const session = await liveSession(ctx, input.sessionId)
      await session.queue.remove(input.id)
      return queueOf(session)
    }),

  clear: inSession.mutation(async ({ ctx }): Promise<QueueState> => {
    await ctx.session.queue.clear()
    return queueOf(ctx.session)
  }),

  /** Nothing of the queue starts until it is released. */
  hold: inSession.mutation(async ({ ctx }): Promise<QueueState> => {
    await ctx.session.queue.hold()
    return queueOf(ctx.session)
  }),

  release: inSession.mutation(async ({ ctx }): Promise<QueueState> => {
    await ctx.session.queue.release()
    return queueOf(ctx.session)
  }),
})

export interface ContextRoom extends Omit<ContextUsage, 'usedTokens'> {
  usedTokens: number | null
}

export const turnsRouter = router({
  /** CONFLICT while a turn runs. */
  start: procedure
    .input(turnInput)
    .mutation(async ({ ctx, input }) =>
      (await liveSession(ctx, input.sessionId)).start(input.message, input.options),
    ),

  /** Starts, or queues behind the turn that runs. */
  send: procedure
    .input(turnInput)
    .mutation(async ({ ctx, input }) =>
      (await liveSession(ctx, input.sessionId)).send(input.message, input.options),
    ),

  /** Into the running turn where the agent can take it; else first in the queue. */
  steer: procedure
    .input(turnInput)
    .mutation(async ({ ctx, input }) =>
      (await liveSession(ctx, input.sessionId)).steer(input.message, input.options),
    ),

  interrupt: inSession.mutation(async ({ ctx }) => {
    await ctx.stopped.note(ctx.session)
    ctx.session.interrupt()
  }),

  kill: inSession.mutation(async ({ ctx }) => {
    await ctx.stopped.note(ctx.session)
    await ctx.session.kill()
  }),

  /** What still runs of the turn that was stopped last. */
  leftovers: inSession.query(({ ctx }): Promise<TurnLeftovers | null> => ctx.stopped.leftovers(ctx.session)),

  /** Starts the agent while the user still types. */
  prewarm: procedure
    .input(z.strictObject({ sessionId, options: turnOptions.optional() }))
    .mutation(async ({ ctx, input }) => {
      await (await liveSession(ctx, input.sessionId)).prewarm(input.options)
    }),

  setPermissionMode: procedure
    .input(z.strictObject({ sessionId, mode: permissionMode }))
    .mutation(async ({ ctx, input }) => {
      await (await liveSession(ctx, input.sessionId)).setPermissionMode(input.mode)
    }),

  /** `usedTokens` is null for an agent that does not run: how much is in view then, the log says. */
  contextUsage: inSession.query(async ({ ctx }): Promise<ContextRoom | null> => {
    const { id } = ctx.session
    const usage = await ctx.session.contextUsage()
    if (usage) {
      // It is shown, whether or not it can be kept.
      await ctx.contextSizes.set(id, usage.maxTokens).catch(() => undefined)
      return usage
    }
    const maxTokens = await ctx.contextSizes.get(id)
    return maxTokens === undefined ? null : { usedTokens: null, maxTokens }
  }),

  queue: queueRouter,
})

function queueOf({ status }: LiveSession): QueueState {
  return { messages: status.queue, held: status.queueHeld }
}

export const decisionsRouter = router({
  /** What waits for a person, oldest first. */
  pending: procedure
    .input(z.strictObject({ sessionId: sessionId.optional() }).optional())
    .query(({ ctx, input }): Promise<PendingDecision[]> => pendingDecisions(ctx, input?.sessionId)),

  answer: procedure.input(answer).mutation(({ ctx, input }) => answerDecision(ctx, input)),
})
