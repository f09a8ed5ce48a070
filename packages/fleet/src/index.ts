export {
  type Claim,
  type ClaimStep,
  type ClaimStore,
  Claims,
  type Judged,
  judgeClaim,
} from './claim/claims.ts'
export { type MachineState, stateOf } from './claim/presence.ts'
export { type InitOptions, initFleet, invite, joinFleet, revoke } from './engine/broker.ts'
export { certificateFingerprint, keyFingerprint } from './engine/certificate.ts'
export { type ClusterNode, initCluster, parseNodes } from './engine/cluster.ts'
export { type Member, publicKeyOf, readBroker, readMember } from './engine/fleet-files.ts'
export { leaveFleet } from './engine/leave.ts'
export { tryConnection } from './engine/link.ts'
export { BIN_VARIABLE, findNatsServer, installNatsServer, type NatsBinary } from './engine/nats-binary.ts'
export type { FleetErrorCode } from './fleet-error.ts'
export { FleetMember, type FleetMemberOptions } from './fleet-member.ts'
export type { Beat, LocalMachine, Machine } from './machines.ts'
export type { Moved } from './move/moves.ts'
export {
  type Candidate,
  type Choice,
  type Offer,
  type Placement,
  place,
  type Work,
} from './placement/place.ts'
export { mirrorsFolder, type RemoteSession, storedRemoteSessions } from './remote-sessions.ts'
export type { RemoteCall } from './rpc/calls.ts'
export { storedSpending } from './spending.ts'
export type { Role } from './subjects.ts'
