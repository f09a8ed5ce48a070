import { randomUUID } from 'node:crypto'
import type {
  HarnessErrorCode,
  HarnessEvent,
  HarnessQuery,
  NdjsonRecord,
  SessionErrorCode,
  UsageInfo,
} from '@chirality/core'
import type { AgentProcess } from '../process/agent-process.ts'
import { spawnJsonl } from '../process/spawn-jsonl.ts'
import { openSpool } from '../process/spool/spool.ts'
import { TurnLog } from './harness-log.ts'
import { startFailure } from './start-failure.ts'
import { describeExit } from './turn-events.ts'
import type { AgentName, Invocation, TurnConfig } from './turn-program.ts'

export interface QueryProcessOptions<M> {
  agent: AgentName
  config: TurnConfig
  query: HarnessQuery
  /** Its files are removed when the query is over. */
  invocation: Invocation
  /** Names the raw log, in place of the session id. */
  label?: string | undefined
  onSpawn?(process: AgentProcess): void
  read(record: NdjsonRecord): HarnessEvent<M>[]
  /** The last events, after the exit; `said` is the error text for an exit without a result. */
  end(said: string): HarnessEvent<M>[]
}

/** One query in a process of its own, as native events. */
export async function* queryProcess<M>(options: QueryProcessOptions<M>): AsyncGenerator<HarnessEvent<M>> {
  const { agent, config, query, invocation } = options
  const { command, args, env, cwd, cage, stdin } = invocation
  const log = new TurnLog(config)
  let isStarted = false
  try {
    const spool = await openSpool({
      projectRoot: query.projectRoot ?? query.cwd,
      harness: agent.harnessId,
      sessionId: options.label ?? query.resumeSessionId ?? query.newSessionId ?? 'query',
      turnId: randomUUID(),
      rawLogs: config.rawLogs,
    })
    const events = spawnJsonl<M>({
      command,
      args,
      env,
      cwd,
      cage,
      stdin,
      spool,
      signal: query.signal,
      stop: config.stop,
      onSpawn: process => {
        isStarted = true
        log.spawned(invocation, process)
        options.onSpawn?.(process)
      },
      parseRecord: record => {
        log.record(record)
        return options.read(record)
      },
      onExit: (exit, stderr) => {
        log.exited(exit, exit.fault)
        return options.end(describeExit(agent.name, exit, stderr))
      },
    })
    for await (const event of events) {
      if (event.type === 'stderr') log.stderr(event.data)
      // The caller that aborts knows about it: an abort ends the query without an error.
      if (event.type === 'error' && query.signal.aborted) continue
      yield event
    }
  } catch (error) {
    throw isStarted ? error : startFailure(error, agent)
  } finally {
    await invocation.cleanup()
  }
}

/** The translator's summary of a turn's result. */
export interface QueryOutcome {
  isError: boolean
  error?: string | undefined
  errorCode?: SessionErrorCode | undefined
  usage: UsageInfo
  costUsd?: number | undefined
  durationMs?: number | undefined
}

/** The last event of a query that has a result. */
export function queryEnd(outcome: QueryOutcome): HarnessEvent<never> {
  const { isError, error = 'The turn failed.', errorCode, usage, costUsd, durationMs } = outcome
  if (isError) return { type: 'error', error, code: harnessCode(errorCode) }
  return {
    type: 'complete',
    usage: {
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      cacheReadTokens: usage.cache_read_input_tokens,
      cacheWriteTokens: usage.cache_creation_input_tokens,
      ...(costUsd === undefined ? {} : { costUsd }),
      ...(durationMs === undefined ? {} : { durationMs }),
    },
  }
}

function harnessCode(code: SessionErrorCode | undefined): HarnessErrorCode {
  switch (code) {
    case 'auth_failed':
    case 'rate_limited':
    case 'overloaded':
    case 'context_overflow':
    case 'session_not_found':
    case 'max_turns':
    case 'budget_exceeded':
      return code
    case 'interrupted':
      return 'aborted'
    default:
      return 'unknown'
  }
}
