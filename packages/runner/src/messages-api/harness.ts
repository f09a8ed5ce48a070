import type { HarnessInstallStatus } from '@chirality/core'
import { processEnv } from '../process/system/process-env.ts'
import { AgentHarness, type HarnessAgent, type Offered } from '../turn/create-harness.ts'
import type { MessagesApiContext, MessagesApiHarnessConfig } from './config.ts'
import { transcripts } from './conversation/transcript.ts'
import { KEY_INSTRUCTIONS, readEndpoint } from './credentials.ts'
import { MESSAGES_API_CAPABILITIES, MESSAGES_API_META, MESSAGES_API_MODELS } from './descriptor.ts'
import type { MessagesApiEvent } from './log/native-event.ts'
import { GrantsOfSessions } from './permissions/policy.ts'
import { queryMessagesApi } from './query.ts'
import { adoptedPlan } from './turn/adopted-turn.ts'
import { LoopConnection, messagesApiPlan } from './turn/turn.ts'

/** Runs an agent loop on the Messages API in this process. Needs only an API key. */
export class MessagesApiHarness extends AgentHarness<MessagesApiEvent> {
  declare readonly adoptTurn: Offered<'adoptTurn'>
  declare readonly steer: Offered<'steer'>
  declare readonly setPermissionMode: Offered<'setPermissionMode'>
  constructor(config: MessagesApiHarnessConfig = {}) {
    super(messagesApiAgent(config))
  }
}

export function messagesApiAgent(config: MessagesApiHarnessConfig): HarnessAgent<MessagesApiEvent> {
  const environment = processEnv(config.environment)
  const context: MessagesApiContext = { config, environment, busyConversations: new Set() }
  const grants = new GrantsOfSessions()
  return {
    meta: MESSAGES_API_META,
    models: MESSAGES_API_MODELS,
    capabilities: MESSAGES_API_CAPABILITIES,
    installStatus: async () => keyStatus(environment),
    query: query => queryMessagesApi(query, context),
    plan: turn => messagesApiPlan({ ...turn, context, grants: grants.of(turn.session.id) }),
    // The loop ended with its process: the turn is read from its raw log and ended.
    adopt: ({ session, trace }) => adoptedPlan({ session, trace, context }),
    kept: {
      kill: async () => {},
      release: async sessionId => grants.forget(sessionId),
      close: async () => grants.clear(),
    },
    conversations: transcripts,
    readsAgentsFile: async () => false,
    setMode: async (_sessionId, mode, connection) => {
      if (connection instanceof LoopConnection) connection.setPermissionMode(mode)
    },
  }
}

/** The status depends on the key alone: there is nothing to install. */
function keyStatus(environment: Record<string, string>): HarnessInstallStatus {
  const { apiKey, authToken } = readEndpoint(environment)
  return apiKey || authToken
    ? { installed: true, authType: 'api-key', authenticated: true }
    : { installed: true, authType: 'none', authenticated: false, authInstructions: KEY_INSTRUCTIONS }
}
