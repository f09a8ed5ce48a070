import type { ServerLoops } from '../loops/server-loops.ts'
import type { ServerSchedules } from '../loops/server-schedules.ts'

/**
 * What the loop or schedule that has a session at work tells of it itself: its ends, or also its requests (`all`), because
 * it waits for no answer. Without it a loop of 300 tasks would be 300 messages.
 */
export type ToldByWork = 'ends' | 'all'

export interface Work {
  loops: Pick<ServerLoops, 'ownerOf'>
  schedules: Pick<ServerSchedules, 'owns'>
}

/** Undefined if neither has the session. */
export function toldByWork({ loops, schedules }: Work, sessionId: string): ToldByWork | undefined {
  const owner = loops.ownerOf(sessionId)
  if (owner !== undefined) return owner.answerMinutes === 0 ? 'all' : 'ends'
  return schedules.owns(sessionId) ? 'ends' : undefined
}
