export {
  type Claim,
  type ClaimStep,
  type ClaimStore,
  Claims,
  type JudgedClaim,
  judgeClaim,
} from './claim/claims.ts'
export type { ClaimReader, GroupRef } from './claim/open-groups.ts'
export type { Observation } from './claim/presence.ts'
export { type MachineState, stateOf } from './claim/presence.ts'
export { type InitOptions, initFleet, invite, joinFleet, revoke } from './engine/broker.ts'
export { certificateFingerprint, keyFingerprint } from './engine/certificate.ts'
export { type ClusterNode, initCluster, parseNodes } from './engine/cluster.ts'
export type { BrokerFile } from './engine/fleet-files.ts'
export { type Member, publicKeyOf, readBroker, readMember } from './engine/fleet-files.ts'
export type { Follower, Handler, StoredMessage } from './engine/follower.ts'
export type { GivenProgram } from './engine/given-program.ts'
export { leaveFleet } from './engine/leave.ts'
export type { Link, LinkAnswer, LinkOptions, Published, PublishOptions } from './engine/link.ts'
export { tryConnection } from './engine/link.ts'
export type { FindNatsOptions } from './engine/nats-binary.ts'
export { BIN_VARIABLE, findNatsServer, installNatsServer, type NatsBinary } from './engine/nats-binary.ts'
export type { FleetErrorCode } from './fleet-error.ts'
export { FleetMember } from './fleet-member.ts'
export type { FleetMemberOptions } from './fleet-member-options.ts'
export type { Beat, Machine } from './machines.ts'
export type { KeptSession, Moved } from './move/moves.ts'
export type { StepTime } from './move/step-times.ts'
export type { TakenOver } from './move/takeovers.ts'
export {
  type MachineCandidate,
  type MachineChoice,
  type Offer,
  type PlacedWork,
  type Placement,
  place,
} from './placement/place.ts'
export { mirrorsFolder, storedRemoteSessions } from './remote-sessions.ts'
export type { Forgotten } from './removals.ts'
export type { WorkState, WorkStep } from './rpc/protocol.ts'
export { storedSpending } from './spending.ts'
export type { Role, StreamKind } from './subjects.ts'
export type { AwayTurn, AwayTurns } from './work/away-turns.ts'
export type { TurnOrder } from './work/session-craft.ts'
export type { WorkEnd } from './work/work-board.ts'
export type { WorkDesk } from './work/work-desk.ts'
