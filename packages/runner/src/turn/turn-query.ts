import type { HarnessQuery, HarnessTurnOpts, Session } from '@chirality/core'

/**
 * Makes a query from a session's turn. An override wins over the plain option; headless turns send no permission
 * requests by default.
 */
export function turnQuery(session: Session, message: string, opts: HarnessTurnOpts): HarnessQuery {
  const isNew = session.claudeSessionId === null || opts.forkSession === true
  return {
    prompt: opts.images?.length ? [{ type: 'text', text: message }, ...opts.images] : message,
    cwd: session.workFolder ?? session.projectRoot,
    projectRoot: session.projectRoot,
    resumeSessionId: session.claudeSessionId ?? undefined,
    forkSession: opts.forkSession,
    forkAt: opts.forkAt,
    account: opts.account,
    newSessionId: isNew ? opts.newSessionId : undefined,
    mode: 'read-only',
    permissionMode: opts.permissionMode ?? 'dontAsk',
    tools: opts.toolsOverride ?? opts.tools,
    disallowedTools: opts.disallowedToolsOverride ?? opts.disallowedTools,
    allowedTools: opts.autoApproveToolsOverride ?? opts.autoApproveTools,
    maxTurns: opts.maxTurns,
    maxBudgetUsd: opts.maxBudgetUsd,
    appendSystemPrompt: opts.systemPromptAppend,
    includePartialMessages: opts.includePartialMessages,
    model: opts.model,
    fallbackModel: opts.fallbackModel,
    thinking: opts.thinking,
    mcpServers: opts.mcpServers,
    keepOwnMcpServers: opts.keepOwnMcpServers,
    clientTools: opts.clientTools,
    clientToolTimeoutMs: opts.clientToolTimeoutMs,
    additionalDirectories: opts.additionalDirectories,
    trustProject: opts.trustProject,
    outputSchema: opts.outputSchema,
    env: opts.env,
    cage: opts.cage,
    signal: opts.signal ?? new AbortController().signal,
  }
}

/** The same for an agent that lacks the conversation, or cannot cut it: the prompt contains a transcript of it. */
export function withoutConversation(query: HarnessQuery): HarnessQuery {
  const { resumeSessionId: _r, forkSession: _f, forkAt: _a, account, ...rest } = query
  return account === undefined ? rest : { ...rest, prompt: promptBehind(account, query.prompt) }
}

function promptBehind(account: string, prompt: HarnessQuery['prompt']): HarnessQuery['prompt'] {
  if (typeof prompt === 'string') return withAccount(account, prompt)
  const [first, ...others] = prompt
  return first?.type === 'text'
    ? [{ ...first, text: withAccount(account, first.text) }, ...others]
    : [{ type: 'text', text: account }, ...prompt]
}

/** The prompt for a message that follows a transcript of an earlier conversation. */
export function withAccount(account: string, text: string): string {
  return `${account}\n\n${text}`
}
