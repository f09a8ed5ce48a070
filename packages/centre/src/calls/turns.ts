import type { LiveSession } from '@chirality/sessions'
import { z } from 'zod'
import { mutation, query } from '../call.ts'
import { liveSession } from '../sessions/live-session.ts'
import { contextRoom, leftovers, queueState, sentTurn, startedTurn, steeredTurn } from '../shapes/sessions.ts'
import {
  bySession,
  message,
  nothing,
  permissionMode,
  sessionId,
  turnInput,
  turnOptions,
} from '../shapes/values.ts'

const queueEntry = z.string().min(1).max(64)

export type QueueState = z.infer<typeof queueState>

function queueOf({ status }: LiveSession): QueueState {
  return { messages: status.queue, held: status.queueHeld }
}

const queue = {
  list: query({
    about: 'Lists the messages that wait for the end of the running turn.',
    input: bySession,
    output: queueState,
    where: 'owner',
    run: async (centre, input) => queueOf(await liveSession(centre, input.sessionId)),
  }),

  edit: mutation({
    about: 'Changes a queued message.',
    input: z.strictObject({ sessionId, id: queueEntry, message }),
    output: queueState,
    where: 'owner',
    run: async (centre, input) => {
      const session = await liveSession(centre, input.sessionId)
      await session.queue.edit(input.id, input.message)
      return queueOf(session)
    },
  }),

  move: mutation({
    about: 'Moves a queued message to another place.',
    input: z.strictObject({ sessionId, id: queueEntry, index: z.int().nonnegative() }),
    output: queueState,
    where: 'owner',
    run: async (centre, input) => {
      const session = await liveSession(centre, input.sessionId)
      await session.queue.move(input.id, input.index)
      return queueOf(session)
    },
  }),

  remove: mutation({
    about: 'Removes a queued message.',
    input: z.strictObject({ sessionId, id: queueEntry }),
    output: queueState,
    where: 'owner',
    run: async (centre, input) => {
      const session = await liveSession(centre, input.sessionId)
      await session.queue.remove(input.id)
      return queueOf(session)
    },
  }),

  clear: mutation({
    about: 'Removes all queued messages.',
    input: bySession,
    output: queueState,
    where: 'owner',
    run: async (centre, input) => {
      const session = await liveSession(centre, input.sessionId)
      await session.queue.clear()
      return queueOf(session)
    },
  }),

  hold: mutation({
    about: 'Holds the queue: no message of it is sent until it is released.',
    input: bySession,
    output: queueState,
    where: 'owner',
    run: async (centre, input) => {
      const session = await liveSession(centre, input.sessionId)
      await session.queue.hold()
      return queueOf(session)
    },
  }),

  release: mutation({
    about: 'Releases a queue that was held.',
    input: bySession,
    output: queueState,
    where: 'owner',
    run: async (centre, input) => {
      const session = await liveSession(centre, input.sessionId)
      await session.queue.release()
      return queueOf(session)
    },
  }),
}

export const turnCalls = {
  start: mutation({
    about: 'Starts a turn. Refused while a turn of the session runs.',
    input: turnInput,
    output: startedTurn,
    where: 'owner',
    run: async (centre, input) =>
      (await liveSession(centre, input.sessionId)).start(input.message, input.options),
  }),

  send: mutation({
    about: 'Starts a turn, or queues the message behind the running one.',
    input: turnInput,
    output: sentTurn,
    where: 'owner',
    run: async (centre, input) =>
      (await liveSession(centre, input.sessionId)).send(input.message, input.options),
  }),

  steer: mutation({
    about:
      'Sends the message into the running turn if the agent can take it; otherwise puts it first in the queue.',
    input: turnInput,
    output: steeredTurn,
    where: 'owner',
    run: async (centre, input) =>
      (await liveSession(centre, input.sessionId)).steer(input.message, input.options),
  }),

  interrupt: mutation({
    about: 'Asks the agent to end the running turn.',
    input: bySession,
    output: nothing,
    where: 'owner',
    run: async (centre, input) => {
      const session = await liveSession(centre, input.sessionId)
      await centre.stopped.note(session)
      session.interrupt()
    },
  }),

  kill: mutation({
    about: 'Ends the agent of the running turn, and everything that it started.',
    input: bySession,
    output: nothing,
    where: 'owner',
    run: async (centre, input) => {
      const session = await liveSession(centre, input.sessionId)
      await centre.stopped.note(session)
      await session.kill()
    },
  }),

  leftovers: query({
    about: 'Counts the processes of the last stopped turn that still run. Null if that is not known.',
    input: bySession,
    output: leftovers,
    where: 'owner',
    run: async (centre, input) => centre.stopped.leftovers(await liveSession(centre, input.sessionId)),
  }),

  prewarm: mutation({
    about: 'Starts the agent while the user still types.',
    input: z.strictObject({ sessionId, options: turnOptions.optional() }),
    output: nothing,
    where: 'owner',
    run: async (centre, input) => (await liveSession(centre, input.sessionId)).prewarm(input.options),
  }),

  setPermissionMode: mutation({
    about:
      'Changes the permission mode: at once if the agent can do that while it works, otherwise from the next turn on.',
    input: z.strictObject({ sessionId, mode: permissionMode }),
    output: z.strictObject({ from: z.enum(['now', 'next-turn']) }),
    where: 'owner',
    run: async (centre, input) => {
      const session = await liveSession(centre, input.sessionId)
      return { from: await session.setPermissionMode(input.mode) }
    },
  }),

  contextUsage: query({
    about:
      'Tells how full the context of the model is. `usedTokens` is null for an agent that does not run: the log has the last value then.',
    input: bySession,
    output: contextRoom,
    where: 'owner',
    run: async (centre, input) => {
      const session = await liveSession(centre, input.sessionId)
      const usage = await session.contextUsage()
      if (usage) {
        // Returned whether or not it can be stored.
        await centre.contextSizes.set(session.id, usage.maxTokens).catch(() => undefined)
        return usage
      }
      const maxTokens = await centre.contextSizes.get(session.id)
      return maxTokens === undefined ? null : { usedTokens: null, maxTokens }
    },
  }),

  queue,
}
