import { NEW_SCHEDULE, SCHEDULE_TIMES, timesAfter, timesInWords } from '@chirality/loops'
import { z } from 'zod'
import { mutation, query } from '../call.ts'
import { bySchedule, changedSchedule, scheduleWithRuns, shownSchedule, time } from '../shapes/schedules.ts'

/** Prompts and loops that run at times. */
export const scheduleCalls = {
  list: query({
    about: 'Lists the schedules, oldest first.',
    output: z.array(shownSchedule),
    run: ({ schedules }) => schedules.list(),
  }),

  get: query({
    about: 'Gives a schedule with its last runs and their receipts.',
    input: bySchedule,
    output: scheduleWithRuns,
    run: ({ schedules }, input) => schedules.get(input.id),
  }),

  add: mutation({
    about: 'Adds a schedule: a prompt or a loop that runs at times.',
    input: NEW_SCHEDULE,
    output: shownSchedule,
    run: ({ schedules }, input) => schedules.add(input),
  }),

  preview: query({
    about: 'Tells the next times of a schedule before it is added.',
    input: z.strictObject({ when: SCHEDULE_TIMES }),
    output: z.strictObject({ times: z.array(time), words: z.string() }),
    run: (_, { when }) => ({ times: timesAfter(when, Date.now(), 3), words: timesInWords(when) }),
  }),

  change: mutation({
    about: 'Changes all of a schedule but its project, and whether it is a prompt or a loop.',
    input: bySchedule.extend(changedSchedule.shape),
    output: shownSchedule,
    run: ({ schedules }, { id, ...input }) => schedules.change(id, input),
  }),

  pause: mutation({
    about: 'Pauses a schedule.',
    input: bySchedule,
    output: shownSchedule,
    run: ({ schedules }, input) => schedules.pause(input.id),
  }),

  resume: mutation({
    about: 'Goes on with a paused schedule. Times while it was paused are not made up for.',
    input: bySchedule,
    output: shownSchedule,
    run: ({ schedules }, input) => schedules.resume(input.id),
  }),

  run: mutation({
    about: 'Runs a schedule now, beside its times.',
    input: bySchedule,
    output: shownSchedule,
    run: ({ schedules }, input) => schedules.run(input.id),
  }),

  remove: mutation({
    about: 'Removes a schedule. A run that has begun goes on.',
    input: bySchedule,
    output: z.strictObject({}),
    run: ({ schedules }, input) => {
      schedules.remove(input.id)
      return {}
    },
  }),
}
