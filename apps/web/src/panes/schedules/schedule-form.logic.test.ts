import { expect, test } from 'vitest'
import type { ShownSchedule } from '../../state/server/answers.ts'
import {
  emptyForm,
  formOf,
  localTime,
  type ScheduleForm,
  scheduleFrom,
  timeIn,
} from './schedule-form.logic.ts'

const form = (fields: Partial<ScheduleForm> = {}): ScheduleForm => ({
  ...{ ...emptyForm('Europe/Berlin'), project: '/code/shop', prompt: 'Look at the logs.\nAll of them.' },
  ...fields,
})

test('what stands in the fields is what is sent', () => {
  expect(scheduleFrom(form())).toEqual({
    ...{ name: 'Look at the logs.', project: '/code/shop', missed: 'skip', overlap: 'skip' },
    ...{ answerMinutes: 30, keepRuns: 10 },
    what: { kind: 'prompt', prompt: 'Look at the logs.\nAll of them.' },
    when: { kind: 'cron', cron: '0 6 * * mon-fri', timeZone: 'Europe/Berlin' },
  })
  const loop = form({ kind: 'loop', list: 'TASKS.md', parallel: '2', times: 'every', budget: '1.5' })
  expect(scheduleFrom({ ...loop, name: ' Nightly ' })).toMatchObject({
    ...{ name: 'Nightly', budgetUsd: 1.5, what: { kind: 'loop', list: 'TASKS.md', parallel: 2 } },
    when: { kind: 'every', minutes: 360 },
  })
})

test.each([
  [{ prompt: ' ' }, 'Write what'],
  [{ kind: 'loop' }, 'Choose a task list'],
  [{ project: '' }, 'Choose a project'],
  [{ cron: '' }, 'cron fields'],
  [{ times: 'every', every: '1.5' }, '"Every"'],
  [{ times: 'at', at: '' }, 'Give a date'],
  [{ budget: '-1' }, '"Budget in dollars"'],
  [{ keepRuns: '1.5' }, 'whole number from 1 to 50'],
  [{ maxMinutes: 'x' }, '"Minutes"'],
] as const)('%o is refused with what is wrong', (fields, words) => {
  expect(scheduleFrom(form(fields))).toContain(words)
})

test('a schedule that is changed is sent back as it was, but for what was changed', () => {
  // Set by a command: a field for a date and a time has no seconds.
  const at = new Date('2030-01-31T06:30:12.345Z')
  const shown = {
    ...{
      name: 'Once',
      project: '/code/shop',
      missed: 'once',
      overlap: 'allow',
      answerMinutes: 0,
      keepRuns: 3,
    },
    when: { kind: 'at', time: at.toISOString() },
    what: {
      ...{ kind: 'prompt', prompt: 'Go.', harness: 'codex', persona: 'HELP', model: 'm1' },
      ...{ permissionMode: 'plan', worktree: true },
    },
    ...{ id: 'once-1', budgetUsd: 2, maxMinutes: 5 },
  } as const satisfies Partial<ShownSchedule>
  const { id: _id, ...sent } = shown
  const fields = formOf(shown as unknown as ShownSchedule, 'UTC')
  expect(scheduleFrom(fields)).toEqual(sent)
  const later = new Date('2030-01-31T06:31:00.000Z')
  expect(scheduleFrom({ ...fields, at: localTime(later) })).toEqual({
    ...{ ...sent, when: { kind: 'at', time: later.toISOString() } },
  })
})

test('a time is shown in the time zone of its schedule', () => {
  const when = (timeZone: string) => ({ kind: 'cron', cron: '0 3 * * *', timeZone }) as const
  expect(timeIn('2026-06-01T01:00:00Z', when('Europe/Berlin'))).toMatch(/0?3:00/)
  expect(timeIn('2026-06-01T01:00:00Z', when('Asia/Tokyo'))).toMatch(/10:00/)
})
