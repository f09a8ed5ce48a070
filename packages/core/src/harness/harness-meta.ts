import type { HarnessId } from '../session/session.ts'

/** How the id of a harness is written, wherever one is given: in a list, a persona, a call. */
export const HARNESS_ID = /^[a-z][a-z0-9-]{0,63}$/

import type { HarnessVersions } from './versions.ts'

/** All facts about an agent that code outside its harness needs: no other table lists agents by id. */
export interface HarnessMeta {
  id: HarnessId
  name: string
  /** A short name for narrow places. Default: the name. */
  label?: string
  vendor: string
  website: string
  /**
   * The command that installs the agent's program, and the program's versions. Undefined if there is no program to
   * install.
   */
  install?: string
  versions?: HarnessVersions
  login?: HarnessLogin
  environment?: HarnessEnvironment
  /**
   * The harness whose files hold the agent's conversations, itself or another. Undefined: only Chirality stores them.
   */
  nativeSessions?: HarnessId
}

/** How a user gives the agent a credential. */
export interface HarnessLogin {
  /** The command to run in a terminal; undefined if the agent has no login of its own. */
  command?: string
  /** The variable that holds a key. */
  variable: string
}

/** The variables that an agent gets in addition to those of every program. No other agent gets them. */
export interface HarnessEnvironment {
  /** Credentials, addresses and settings of the agent. */
  names: readonly string[]
  /** Names that are passed only while the variable `switchName` is on, such as the credentials of a cloud. */
  switched?: readonly { switchName: string; names: readonly string[] }[]
}

/** A sentence without its full stop: "Run `agent login`, or set AGENT_KEY". */
export function loginWords({ login, name }: HarnessMeta): string {
  if (login === undefined) return `See how to log in to ${name} at its website`
  const { command, variable } = login
  return command === undefined ? `Set ${variable}` : `Run \`${command}\`, or set ${variable}`
}
