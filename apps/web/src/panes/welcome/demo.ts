import type { HarnessInfo, ProjectInfo } from '../../state/server-api.ts'

export interface Demo {
  root: string
  harness: string | null
  message: string
}

/** The folder that `chirality serve --demo` makes. */
const DEMO_NAME = /^(?:chirality-)?demo$/i
const DEMO_HARNESS = 'messages-api'

/** The demo project, where the server has one. */
export function demoProject(
  projects: readonly ProjectInfo[],
  harnesses: readonly HarnessInfo[],
): Demo | undefined {
  const project = projects.find(({ name, missing }) => DEMO_NAME.test(name) && !missing)
  if (!project) return undefined
  const harness = harnesses.some(({ id }) => id === DEMO_HARNESS) ? DEMO_HARNESS : null
  return {
    root: project.root,
    harness,
    message: 'The splitter breaks on CRLF line ends. Find out why, fix it, and add a test.',
  }
}
