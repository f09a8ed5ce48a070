import { isCodedError } from '@chirality/core'
import { JetStreamApiError, JetStreamError } from '@nats-io/jetstream'
import { NoRespondersError, TimeoutError } from '@nats-io/transport-node'

/**
 * Turns an error of the broker into a text for the user: the original is a word or two, such as "timeout", and names
 * neither its source nor the consequence.
 */
export function inWords(error: unknown): unknown {
  if (!(error instanceof Error) || isCodedError(error)) return error
  const why = reasonOf(error)
  return why === undefined ? error : new Error(`${why} It is tried again; agents work on.`, { cause: error })
}

function reasonOf(error: Error): string | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof TimeoutError) return 'The broker did not answer in time.'
    if (cause instanceof NoRespondersError || cause.name === NOT_ENABLED)
      return 'No broker stores now: the broker has just started, or too few are running.'
    if (cause instanceof JetStreamApiError || cause instanceof JetStreamError)
      return `The broker could not do what it was asked: ${cause.message}.`
  }
  return undefined
}

/** The class of this error is not exported. */
const NOT_ENABLED = 'JetStreamNotEnabled'
