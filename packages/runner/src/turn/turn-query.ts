import type { HarnessQuery, HarnessTurnOpts, Session } from '@chirality/core'

/** A turn of a session as a query. An override wins over the plain option; headless turns ask nobody by default. */
export function turnQuery(session: Session, message: string, opts: HarnessTurnOpts): HarnessQuery {
  const isNew = session.claudeSessionId === null || opts.forkSession === true
  return {
    prompt: opts.images?.length ? [{ type: 'text', text: message }, ...opts.images] : message,
    cwd: session.projectRoot,
    resumeSessionId: session.claudeSessionId ?? undefined,
    forkSession: opts.forkSession,
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
    clientTools: opts.clientTools,
    clientToolTimeoutMs: opts.clientToolTimeoutMs,
    additionalDirectories: opts.additionalDirectories,
    trustProject: opts.trustProject,
    outputSchema: opts.outputSchema,
    env: opts.env,
    signal: opts.signal ?? new AbortController().signal,
  }
}
