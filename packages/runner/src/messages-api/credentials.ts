import { HarnessAuthError, HarnessError } from '@chirality/core'
import { buildChildEnv } from '../env/child-env.ts'
import { checkEndpoint, type Endpoint } from './api/endpoint.ts'
import { HARNESS_ID, MESSAGES_API_ENVIRONMENT } from './descriptor.ts'

export const KEY_INSTRUCTIONS = 'Set ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN for a gateway.'

/** The address and credentials, from the environment and the turn's additions. Throws before anything is sent. */
export function endpointOf(environment: Record<string, string>, extra?: Record<string, string>): Endpoint {
  const endpoint = readEndpoint(environment, extra)
  if (!endpoint.apiKey && !endpoint.authToken) throw new HarnessAuthError(HARNESS_ID, KEY_INSTRUCTIONS)
  try {
    checkEndpoint(endpoint)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new HarnessError(why, 'invalid_query', HARNESS_ID, error)
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
