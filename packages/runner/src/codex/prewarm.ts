import type { HarnessQuery, HarnessTurnOpts, Session } from '@chirality/core'
import { traceProcess } from '../process/trace-process.ts'
import type { AppServerPool } from './app-server/app-server-pool.ts'
import type { CodexContext } from './config.ts'
import { appServerLaunch, codexProgram } from './program/launch.ts'

export interface PrewarmOptions {
  session: Session
  context: CodexContext
  pool: AppServerPool
  signal: AbortSignal
  onProcess: HarnessTurnOpts['onProcess']
}

/** Has an app-server ready for the turn. It is kept for as long as any that has nothing to do. */
export async function prewarmCodex(query: HarnessQuery, options: PrewarmOptions): Promise<void> {
  const { session, context, pool, signal, onProcess } = options
  const hasServers = Object.keys(query.mcpServers ?? {}).length > 0 || (query.clientTools?.length ?? 0) > 0
  if (hasServers) return
  const { projectRoot, id: sessionId } = session
  const program = await codexProgram(query, context)
  if (program.features.isSilent) return
  const launch = appServerLaunch(program, context, { projectRoot, distinct: '' })
  const lease = await pool.acquire({ sessionId, threadId: query.resumeSessionId }, launch, signal)
  try {
    onProcess?.(await traceProcess(lease.server.process))
  } finally {
    await lease.release()
  }
}
