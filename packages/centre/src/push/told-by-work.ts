import type { ProjectLoops } from '../loops/project-loops.ts'
import type { ProjectSchedules } from '../loops/project-schedules.ts'

/**
 * What the loop or schedule that has a session at work tells of it itself: its ends, or also its requests (`all`), because
 * it waits for no answer. Without it a loop of 300 tasks would be 300 messages.
 */
export type ToldByWork = 'ends' | 'all'

export interface Work {
  loops: Pick<ProjectLoops, 'ownerOf'>
  schedules: Pick<ProjectSchedules, 'owns'>
}

/** Undefined if neither has the session. */
export function toldByWork({ loops, schedules }: Work, sessionId: string): ToldByWork | undefined {
  const owner = loops.ownerOf(sessionId)
  if (owner !== undefined) return owner.answerMinutes === 0 ? 'all' : 'ends'
  return schedules.owns(sessionId) ? 'ends' : undefined
}
