import type { LiveSession } from '@chirality/sessions'
import type { z } from 'zod'
import type { queueState } from '../contract/answers.ts'
import { CALLS } from '../contract/calls.ts'
import { checked } from '../contract/checked.ts'
import { bySession } from '../contract/values.ts'
import { answerDecision, liveSession, pendingDecisions } from './live-session.ts'
import { call, procedure, router } from './trpc.ts'

const inSession = procedure.input(bySession).use(async ({ ctx, input, next }) => {
  return next({ ctx: { session: await liveSession(ctx, input.sessionId) } })
})

export type QueueState = z.infer<typeof queueState>

const queueRouter = router({
  list: inSession.output(checked(CALLS.turns.queue.list.output)).query(({ ctx }) => queueOf(ctx.session)),

  edit: call(CALLS.turns.queue.edit).mutation(async ({ ctx, input }) => {
    const session = await liveSession(ctx, input.sessionId)
    await session.queue.edit(input.id, input.message)
    return queueOf(session)
  }),

  move: call(CALLS.turns.queue.move).mutation(async ({ ctx, input }) => {
    const session = await liveSession(ctx, input.sessionId)
    await session.queue.move(input.id, input.index)
    return queueOf(session)
  }),

  remove: call(CALLS.turns.queue.remove).mutation(async ({ ctx, input }) => {
    const session = await liveSession(ctx, input.sessionId)
    await session.queue.remove(input.id)
    return queueOf(session)
  }),

  clear: inSession.output(checked(CALLS.turns.queue.clear.output)).mutation(async ({ ctx }) => {
    await ctx.session.queue.clear()
    return queueOf(ctx.session)
  }),

  /** No queued message is sent until the queue is released. */
  hold: inSession.output(checked(CALLS.turns.queue.hold.output)).mutation(async ({ ctx }) => {
    await ctx.session.queue.hold()
    return queueOf(ctx.session)
  }),

  release: inSession.output(checked(CALLS.turns.queue.release.output)).mutation(async ({ ctx }) => {
    await ctx.session.queue.release()
    return queueOf(ctx.session)
  }),
})

export const turnsRouter = router({
  /** CONFLICT while a turn runs. */
  start: call(CALLS.turns.start).mutation(async ({ ctx, input }) =>
    (await liveSession(ctx, input.sessionId)).start(input.message, input.options),
  ),

  /** Starts a turn, or queues the message behind the running one. */
  send: call(CALLS.turns.send).mutation(async ({ ctx, input }) =>
    (await liveSession(ctx, input.sessionId)).send(input.message, input.options),
  ),

  /** Sends the message into the running turn if the agent can take it; otherwise puts it first in the queue. */
  steer: call(CALLS.turns.steer).mutation(async ({ ctx, input }) =>
    (await liveSession(ctx, input.sessionId)).steer(input.message, input.options),
  ),

  interrupt: inSession.output(checked(CALLS.turns.interrupt.output)).mutation(async ({ ctx }) => {
    await ctx.stopped.note(ctx.session)
    ctx.session.interrupt()
  }),

  kill: inSession.output(checked(CALLS.turns.kill.output)).mutation(async ({ ctx }) => {
    await ctx.stopped.note(ctx.session)
    await ctx.session.kill()
  }),

  /** The processes of the last stopped turn that still run. */
  leftovers: inSession
    .output(checked(CALLS.turns.leftovers.output))
    .query(({ ctx }) => ctx.stopped.leftovers(ctx.session)),

  /** Starts the agent while the user still types. */
  prewarm: call(CALLS.turns.prewarm).mutation(async ({ ctx, input }) => {
    await (await liveSession(ctx, input.sessionId)).prewarm(input.options)
  }),

  /** Holds at once if the agent can change it while it works; otherwise from the next turn. */
  setPermissionMode: call(CALLS.turns.setPermissionMode).mutation(async ({ ctx, input }) => {
    const session = await liveSession(ctx, input.sessionId)
    return { from: await session.setPermissionMode(input.mode) }
  }),

  /** `usedTokens` is null for an agent that does not run: the log has the last value then. */
  contextUsage: inSession.output(checked(CALLS.turns.contextUsage.output)).query(async ({ ctx }) => {
    const { id } = ctx.session
    const usage = await ctx.session.contextUsage()
    if (usage) {
      // Returned whether or not it can be stored.
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
  /** The open requests, oldest first. */
  pending: call(CALLS.decisions.pending).query(({ ctx, input }) => pendingDecisions(ctx, input?.sessionId)),

  answer: call(CALLS.decisions.answer).mutation(({ ctx, input }) => answerDecision(ctx, input)),
})
