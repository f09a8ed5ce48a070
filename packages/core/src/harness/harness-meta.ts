import type { HarnessId } from '../session/session.ts'
import type { HarnessVersions } from './versions.ts'

/** Everything that is said of an agent outside of its harness: no other table knows an agent by its id. */
export interface HarnessMeta {
  id: HarnessId
  name: string
  /** Where there is little room. Default: the name. */
  label?: string
  vendor: string
  website: string
  /** The command that installs the agent's program, and the program's versions. Absent where there is none to install. */
  install?: string
  versions?: HarnessVersions
  login?: HarnessLogin
  environment?: HarnessEnvironment
  /** The harness whose files hold the agent's conversations, itself or another. Absent: only Chirality's sessions do. */
  nativeSessions?: HarnessId
}

/** How a person gives the agent a credential. */
export interface HarnessLogin {
  /** To be typed into a terminal; absent where the agent has no login of its own. */
  command?: string
  /** The variable that holds a key. */
  variable: string
}

/** The variables that an agent is given beside those that every program gets. They are kept from all other agents. */
export interface HarnessEnvironment {
  /** Credentials, addresses and settings of the agent. */
  names: readonly string[]
  /** Names that go along only while the variable `switchName` is on, such as the credentials of a cloud. */
  switched?: readonly { switchName: string; names: readonly string[] }[]
}

/** A sentence without its full stop: "Run `agent login`, or set AGENT_KEY". */
export function loginWords({ login, name }: HarnessMeta): string {
  if (login === undefined) return `See how to log in to ${name} at its website`
  const { command, variable } = login
  return command === undefined ? `Set ${variable}` : `Run \`${command}\`, or set ${variable}`
}
