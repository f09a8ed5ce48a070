import type { ErrorItem, HarnessMeta, SessionErrorCode } from '@chirality/core'

const HELP: Readonly<Partial<Record<SessionErrorCode, string>>> = {
  auth_failed: 'Log the agent in, then retry.',
  billing: 'The account has no credit left.',
  rate_limited: 'Wait until the limit is over, then retry.',
  overloaded: 'The model is busy. Retry in a minute.',
  model_not_found: 'Choose another model for this session.',
  context_overflow: 'Start a new session, or type /compact where the agent knows it.',
  max_turns: 'The limit of steps is reached. Go on below, or send a message.',
  budget_exceeded: 'Raise the budget to go on.',
  session_not_found: 'The agent does not know this conversation any more. A new message starts afresh.',
  process_crashed: 'Send a message to go on. Look into Raw if it happens again.',
  not_installed: 'Install the agent, then retry.',
  timeout: 'It took longer than it may. Retry, or give it more time.',
  api_error: 'Retry in a minute.',
}

/** Terminal command that mends the error, where there is one. */
export function errorCommand(
  { code, credential }: Failed,
  harness: Pick<HarnessMeta, 'install' | 'login'> | undefined,
): string | undefined {
  // A login does not help against a key in the environment: that goes before it.
  if (harness === undefined || credential !== undefined) return undefined
  if (code === 'auth_failed') return harness.login?.command
  return code === 'not_installed' ? harness.install : undefined
}

/** Advice for the user about an error. */
export function errorHelp({ code, credential }: Failed): string | undefined {
  if (credential !== undefined)
    return `The key in ${credential} was refused. Correct or remove it where Chirality was started, and start it again.`
  return HELP[code]
}

type Failed = Pick<ErrorItem, 'code' | 'credential'>
