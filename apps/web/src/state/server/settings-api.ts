import type { SessionMode } from '@chirality/core'
import type { AppRouter, CallInputs, CallOutputs } from '@chirality/server'
import type { TRPCClient } from '@trpc/client'

export type PersonaSource = CallOutputs['personas']['source']
export type PersonaDraft = CallOutputs['personas']['check']
export type PersonaChange = CallOutputs['personas']['save']
export type ToolServerSource = CallOutputs['toolServers']['list'][number]
export type ToolServer = ToolServerSource['servers'][number]
export type OwnPlace = CallInputs['toolServers']['remove']['place']
export type OwnAgent = CallOutputs['agents']['list']['agents'][number]
export type AgentProbe = CallOutputs['agents']['test']
export type ServerProbe = CallOutputs['toolServers']['test']
export type AgentTrials = CallOutputs['harnesses']['trials']
export type TrialReport = AgentTrials['reports'][number]
export type ShownSetup = CallOutputs['worktrees']['setup']
export type WorktreeSetup = NonNullable<CallInputs['worktrees']['saveSetup']['setup']>
export type Budget = CallOutputs['budgets']['get']
export type DataUse = CallOutputs['data']['use']
export type RawLogRule = DataUse['rule']
export type PrunePlan = CallOutputs['data']['plan']
export type Pruned = CallOutputs['data']['prune']
export type Machine = CallOutputs['fleet']['machines'][number]
export type FleetInfo = NonNullable<CallOutputs['fleet']['info']>
export type Placement = NonNullable<CallOutputs['fleet']['place']>

/** The calls of the settings page. */
export interface SettingsApi {
  personaSource(project: string, id: string): Promise<PersonaSource>
  /** What a text would be as the persona's file. Writes nothing. */
  checkPersona(project: string, id: string, text: string, mode: SessionMode): Promise<PersonaDraft>
  /** `revision` is that of the text that was read, null for a new file. */
  savePersona(project: string, id: string, text: string, revision: string | null): Promise<PersonaChange>
  removePersona(project: string, id: string, revision: string): Promise<PersonaChange>
  /** The agents that the user added by a command. */
  ownAgents(): Promise<CallOutputs['agents']['list']>
  addAgent(input: CallInputs['agents']['add']): Promise<void>
  removeAgent(name: string): Promise<void>
  /** Starts the agent as it was shown, asks who it is, and ends it again. */
  tryAgent(input: CallInputs['agents']['test']): Promise<AgentProbe>
  /** Limits and sums of all sessions of a project. */
  projectBudget(project: string): Promise<Budget>
  toolServers(project: string): Promise<ToolServerSource[]>
  saveToolServer(input: CallInputs['toolServers']['save']): Promise<void>
  removeToolServer(input: CallInputs['toolServers']['remove']): Promise<void>
  /** Starts or connects to the server as it was shown, and ends it again. */
  tryToolServer(input: CallInputs['toolServers']['test']): Promise<ServerProbe>
  /** What a new worktree of the project gets beside what git checks out. */
  worktreeSetup(project: string): Promise<ShownSetup>
  /** Null removes the user's own. */
  saveWorktreeSetup(project: string, setup: WorktreeSetup | null): Promise<ShownSetup>
  /** What the last trial of each agent showed. */
  agentTrials(): Promise<AgentTrials>
  /** Runs an agent through scripted conversations. Takes up to two minutes. */
  runTrial(harness: string): Promise<TrialReport>
  /** What each project takes on the disk, and how long raw logs are kept. */
  dataUse(): Promise<DataUse>
  setRawLogRule(rule: RawLogRule): Promise<void>
  /** What `pruneRawLogs` would delete. Deletes nothing. */
  planPrune(rule: RawLogRule): Promise<PrunePlan>
  pruneRawLogs(rule: RawLogRule): Promise<Pruned>
  /** The machines of the fleet, this one included; none without a fleet. */
  machines(): Promise<Machine[]>
  fleetInfo(): Promise<FleetInfo | null>
  /** A code with which one machine can join. */
  inviteMachine(role: Machine['role']): Promise<CallOutputs['fleet']['invite']>
  revokeMachine(machine: string): Promise<void>
  /** Removes one that does not come back, and all that the fleet has of it. */
  forgetMachine(machine: string): Promise<void>
  /** Whether hubs get copies of the sessions of this machine. */
  sendCopies(send: boolean): Promise<void>
  /** Lets another machine go on with a session that rests. */
  moveSession(sessionId: string, to: string): Promise<void>
  /** Lets another machine go on with a session whose machine is gone. */
  takeOver(sessionId: string, to: string): Promise<CallOutputs['fleet']['takeover']>
  /** Where a new session would run; null without a fleet. */
  /** `machine` is the one on which the folder is, if it is another one. */
  placeSession(harness: string, project: string, machine?: string): Promise<Placement | null>
}

export function settingsCalls(client: TRPCClient<AppRouter>): SettingsApi {
  return {
    personaSource: (project, id) => client.personas.source.query({ project, id }),
    checkPersona: (project, id, text, mode) => client.personas.check.mutate({ project, id, text, mode }),
    savePersona: (project, id, text, revision) =>
      client.personas.save.mutate({ project, id, text, revision }),
    ownAgents: () => client.agents.list.query(),
    addAgent: input => client.agents.add.mutate(input),
    removeAgent: name => client.agents.remove.mutate({ name }),
    tryAgent: input => client.agents.test.mutate(input),
    toolServers: project => client.toolServers.list.query({ project }),
    saveToolServer: input => client.toolServers.save.mutate(input),
    removeToolServer: input => client.toolServers.remove.mutate(input),
    tryToolServer: input => client.toolServers.test.mutate(input),
    worktreeSetup: project => client.worktrees.setup.query({ project }),
    saveWorktreeSetup: (project, setup) => client.worktrees.saveSetup.mutate({ project, setup }),
    projectBudget: project => client.budgets.get.query({ project }),
    agentTrials: () => client.harnesses.trials.query(),
    runTrial: harness => client.harnesses.tryOut.mutate({ harness }),
    dataUse: () => client.data.use.query(),
    setRawLogRule: async rule => void (await client.data.setRule.mutate({ rule })),
    planPrune: rule => client.data.plan.query({ rule }),
    machines: () => client.fleet.machines.query(),
    fleetInfo: () => client.fleet.info.query(),
    inviteMachine: role => client.fleet.invite.mutate({ role }),
    sendCopies: send => client.fleet.sendCopies.mutate({ send }),
    moveSession: async (sessionId, to) => void (await client.fleet.move.mutate({ sessionId, to })),
    takeOver: (sessionId, to) => client.fleet.takeover.mutate({ sessionId, to }),
    revokeMachine: async machine => void (await client.fleet.revoke.mutate({ machine })),
    forgetMachine: async machine => void (await client.fleet.forget.mutate({ machine })),
    placeSession: (harness, project, machine) =>
      client.fleet.place.query({ harness, project, ...(machine === undefined ? {} : { machine }) }),
    pruneRawLogs: rule => client.data.prune.mutate({ rule }),
    removePersona: (project, id, revision) => client.personas.remove.mutate({ project, id, revision }),
  }
}
