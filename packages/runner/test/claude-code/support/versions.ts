import { type AgentBinary, claudeBinaries } from '@chirality/fixtures'

/**
 * The newest Claude Code, or with CHIRALITY_TEST_ALL every pinned one (`npm run test:all`). The older one goes through the
 * cross-harness suite and the fixtures in any case; all of this twice would double the time that a test run takes.
 */
export function claudeVersions(): AgentBinary[] {
  const all = claudeBinaries()
  return process.env.CHIRALITY_TEST_ALL ? all : all.slice(-1)
}
