import type { HarnessId, SessionHarness } from '@chirality/core'
import type { Script, ScriptBlock, ScriptedModel } from '@chirality/scripted-model'

export interface Place {
  home: string
  marker: string
  /** Set over the environment of the agent. */
  environment?: Record<string, string>
}

export type ModelAddress = Pick<ScriptedModel, 'url' | 'openaiUrl'>

/** One agent in one of its forms. The suite knows nothing else about it. */
export interface Contestant {
  name: string
  harness: HarnessId
  /** A pinned release that is not the newest. */
  isOlder: boolean
  /** Runs each turn in a process of its own, so its turns end with `process:exit`. */
  processPerTurn: boolean
  create(model: ModelAddress, place: Place, binary?: string): SessionHarness | Promise<SessionHarness>
  /** Null where the agent is part of this process. */
  binary: string | null
  /** What the model has to say for the agent to run a shell command. */
  command(shell: string): ScriptBlock
  /** What the model has to say to call a client tool. */
  clientTool(name: string, input: Record<string, unknown>): ScriptBlock
  /** Lets commands run, and nothing be asked. */
  free: { permissionMode: 'bypassPermissions'; env?: Record<string, string> }
  /** A line of the agent's own protocol that no version knows; null where no protocol lies between. */
  unknownLine: string | null
  /** How it is brought to ask, in the permission mode `default`; null where it asks nobody. */
  asking: Asking | null
  /** Ends with the program that runs it, so there is no turn to read on. */
  endsWithHost?: boolean
  /** What it asks the model beside the conversation. */
  routes?: NonNullable<Script['routes']>
  /** Tells an error of the model as an answer, and calls the turn completed. */
  answersWithErrors?: boolean
  /** Ends its turn when something is denied. */
  denialEndsTurn?: boolean
}

export interface Asking {
  /** A command that is asked about. */
  command(shell: string): ScriptBlock
  /** The same request with another command; null where only what was asked for can run. */
  edited: ((input: Record<string, unknown>, shell: string) => Record<string, unknown>) | null
  /** A question with these answers to choose from, where the agent has such a tool. */
  question: ((text: string, choices: string[]) => ScriptBlock) | null
  plan: ((text: string) => ScriptBlock) | null
  /** Has a sub-agent do what the route for the prompt says. */
  subAgent: ((prompt: string) => ScriptBlock) | null
}
