import {
  HarnessError,
  type HarnessVersions,
  type StatusEvent,
  versionNote,
  versionSupport,
} from '@chirality/core'
import type { AgentName } from './turn-program.ts'

/**
 * Throws for a release that is too old, before anything is sent to it. An agent that reports no version is accepted.
 */
export function refuseTooOld(
  version: string | undefined,
  versions: HarnessVersions,
  { harnessId, name }: AgentName,
): void {
  const support = versionSupport(version, versions)
  if (support !== 'too-old') return
  const update = versions.update ? ` ${versions.update}` : ''
  const message = `${name} ${version} is ${versionNote(support, versions)}.${update}`
  throw new HarnessError(message, 'unsupported', harnessId)
}

/** One release of an agent, in relation to the releases that the tests run. */
export interface AgentRelease {
  version: string | undefined
  versions: HarnessVersions
  name: string
}

/** The notice in the first turn of a session whose release the tests have never run. */
export function versionNotice(
  sessionId: string,
  { version, versions, name }: AgentRelease,
): StatusEvent | undefined {
  const support = versionSupport(version, versions)
  const note = versionNote(support, versions)
  if (note === undefined) return undefined
  const message = `${name} ${version} is ${note}.`
  const data = { kind: 'version', version, support }
  return { type: 'status', sessionId, status: 'notice', level: 'info', message, data }
}
