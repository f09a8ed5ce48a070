import { HarnessAuthError, HarnessError } from '@chirality/core'
import { buildChildEnv } from '../env/child-env.ts'
import { checkEndpoint, type Endpoint } from './api/endpoint.ts'
import { MESSAGES_API_ENVIRONMENT, MESSAGES_API_ID } from './descriptor.ts'

export const KEY_INSTRUCTIONS = 'Set ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN for a gateway.'

/** The address and credentials, from the environment and the turn's additions. Throws before anything is sent. */
export function endpointOf(environment: Record<string, string>, extra?: Record<string, string>): Endpoint {
  const endpoint = readEndpoint(environment, extra)
  if (!endpoint.apiKey && !endpoint.authToken) throw new HarnessAuthError(MESSAGES_API_ID, KEY_INSTRUCTIONS)
  try {
    checkEndpoint(endpoint)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new HarnessError(why, 'invalid_query', MESSAGES_API_ID, error)
  }
  return endpoint
}

export function readEndpoint(source: Record<string, string>, extra?: Record<string, string>): Endpoint {
  const { env } = buildChildEnv({ source, own: MESSAGES_API_ENVIRONMENT, ...(extra ? { extra } : {}) })
  return {
    apiKey: env.ANTHROPIC_API_KEY?.trim() || undefined,
    authToken: env.ANTHROPIC_AUTH_TOKEN?.trim() || undefined,
    baseUrl: env.ANTHROPIC_BASE_URL?.trim() || undefined,
  }
}
