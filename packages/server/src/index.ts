export { listBrowsers, removeBrowser, type SignedInBrowser } from './browsers/signed-in-browsers.ts'
export type { HarnessInfo } from './contract/agent-answers.ts'
export type { Answer, Endpoint } from './contract/endpoints.ts'
export type {
  Blame,
  BlamedTurn,
  ChangedFile,
  Changes,
  FileChange,
  FileContent,
  FolderEntry,
  FolderListing,
  GitStatus,
  Overlaps,
  TurnDiff,
} from './contract/file-answers.ts'
export { toolServerConfig } from './contract/values.ts'
export type { FleetTurns } from './fleet/fleet-service.ts'
export {
  type FleetLocal,
  type FleetService,
  type Machine,
  type RemoteCall,
  type RemoteSession,
  remoteSessions,
} from './fleet/fleet-service.ts'
export { searchMirrors, withMirrored } from './fleet/mirrored.ts'
export { budgetKey } from './fleet/repository-key.ts'
export type { GuardReason, GuardVerdict, RequestFacts, RouteKind, TokenVerdict } from './guard/guard.ts'
export { LINK_MINUTES } from './guard/keys.ts'
export type { Exposed, ListenErrorCode } from './http/check-binding.ts'
export type { TlsFiles } from './http/http-server.ts'
export type { Route, RouteRequest } from './http/routes.ts'
export type { SendPaceOptions } from './http/send-pace.ts'
export type { RegisteredProject } from './projects/project-registry.ts'
export type { ToldByWork } from './push/told-by-work.ts'
export type { SocketLimits } from './socket/socket-server.ts'
export { type RunningServer, type ServerOptions, startServer } from './start-server.ts'
export type { TryAgent } from './system/agent-trials.ts'
export { listServerFiles, readServerFile, type ServerFile } from './system/server-file.ts'
export type { SessionProcesses } from './system/session-processes.ts'
export type { Demo } from './trpc/context.ts'
export type { FleetEvent } from './trpc/events-router.ts'
export type { ProjectInfo } from './trpc/projects-router.ts'
export type { AppRouter, CallInputs, CallOutputs } from './trpc/router.ts'
export type { ExportPage } from './trpc/sessions-router.ts'
export type { QueueState } from './trpc/turns-router.ts'
