export type { AppRouter, CallInputs, CallOutputs, FleetEvent } from '@chirality/server'
export { type Client, createClient } from './create-client.ts'
export { openStream } from './event-stream.ts'
export {
  type ConnectionState,
  createLiveClient,
  type LiveClient,
  type LiveClientOptions,
  type SessionFollower,
} from './live-client.ts'
export { type ServerAddress, ServerRefusedError } from './server-refused.ts'
