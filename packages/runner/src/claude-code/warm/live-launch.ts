import type { Guard, HarnessQuery } from '@chirality/core'
import { startFailure } from '../../turn/start-failure.ts'
import { type ClaudeContext, PLAIN_VARIANT } from '../config.ts'
import { prepareLaunch } from '../invocation.ts'
import { GuardHook } from './guard-hook.ts'
import { LiveClaude, type LiveClaudeOptions } from './live-claude.ts'
import { RelayedTools } from './relayed-tools.ts'

/** What a process is started with, and what tells whether one that runs will do instead. */
export interface LiveLaunch {
  query: HarnessQuery
  /** All that cannot change while it runs. */
  key: string
  /** Ended with its turn. */
  isShortLived: boolean
  tools: RelayedTools
  guard: Guard | undefined
  /** Rejects with a HarnessError, also when the signal says that nobody wants it any more. */
  start(names: LiveNames, signal: AbortSignal): Promise<LiveClaude>
}

export type LiveNames = Pick<LiveClaudeOptions, 'sessionId' | 'turnId' | 'onStderr'>

export interface LiveLaunchOptions {
  context: ClaudeContext
  /** Someone is there to answer. Otherwise what is not allowed is denied, and the agent is told so beforehand. */
  asks: boolean
  guard: Guard | undefined
}

export function liveLaunch(query: HarnessQuery, { context, asks, guard }: LiveLaunchOptions): LiveLaunch {
  const tools = new RelayedTools(query.clientTools)
  const { config, variant = PLAIN_VARIANT } = context
  return {
    query,
    key: launchKey(query, {
      asks,
      isGuarded: guard !== undefined,
      rules: guard?.rules?.map(({ effect, tool, pattern }) => [effect, tool, pattern]),
    }),
    // The agent counts what the process has cost, and the limit is for a turn.
    isShortLived: query.maxBudgetUsd !== undefined,
    tools,
    guard,
    start: async (names, signal) => {
      const extraArgs = ['--replay-user-messages', ...(asks ? ['--permission-prompt-tool', 'stdio'] : [])]
      const relayed = { ...query, clientTools: tools.definitions, signal }
      try {
        const prepared = await prepareLaunch(
          relayed,
          { ...context, extraArgs, guardRules: guard?.rules },
          'stream-json',
        )
        const launch = guard ? { ...prepared, guard: new GuardHook(guard) } : prepared
        const { model, permissionMode: mode } = query
        return await LiveClaude.start({ launch, config, variant, model, mode, signal, ...names })
      } catch (error) {
        throw startFailure(error, variant.agent)
      }
    },
  }
}

/** Model and permission mode are missing, because they can be set; which conversation it is, the pool compares. */
function launchKey(query: HarnessQuery, talks: object): string {
  const { prompt, signal, model, permissionMode, mode, clientTools, ...rest } = query
  const { resumeSessionId, forkSession, forkAt, account, newSessionId, continueLast, ...fixed } = rest
  const tools = clientTools?.map(({ handler, ...definition }) => definition)
  return JSON.stringify([fixed, tools, talks, isBypass(query)], sortedKeys)
}

export function isBypass({ permissionMode, mode }: HarnessQuery): boolean {
  return permissionMode ? permissionMode === 'bypassPermissions' : mode === 'yolo'
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
