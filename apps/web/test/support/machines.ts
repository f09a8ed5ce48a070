import type { Machine } from '../../src/state/server/answers.ts'

/** The machine of the page. */
export const HUB: Machine = {
  machine: 'hub',
  state: 'here',
  isThis: true,
  heardSecondsAgo: 1,
  hasKey: true,
  role: 'hub',
  key: '4fa0-0b8e-91d5-2c7a-66e1',
  version: '0.1.0',
  labels: [],
  slots: 4,
  busy: 0,
  load: 0.1,
  agents: [],
  projects: [],
  copies: true,
  repositories: [],
}
export const BUILD: Machine = { ...HUB, machine: 'build-1', role: 'worker', isThis: false }
