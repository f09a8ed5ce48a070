import type { AdoptTurnOpts, Session, TurnTrace } from '@chirality/core'
import { adoptedAttempts } from '../turn/attempt-source.ts'
import { HarnessLog } from '../turn/harness-log.ts'
import { processTurn } from '../turn/process-turn.ts'
import type { StoppableTurn } from '../turn/running-turns.ts'
import { AdoptedAppServerTurn } from './adopted-turn.ts'
import { isAppServerSpool } from './app-server.ts'
import type { CodexContext } from './config.ts'
import { execProgram } from './exec-program.ts'

export interface AdoptCodexTurnOptions {
  session: Session
  trace: TurnTrace
  opts: AdoptTurnOpts
  context: CodexContext
}

/** A turn of an earlier Chirality, in whichever voice it was. */
export function adoptCodexTurn({ session, trace, opts, context }: AdoptCodexTurnOptions): StoppableTurn {
  const process = trace.processes.find(({ spoolPath }) => isAppServerSpool(spoolPath))
  if (process) {
    const log = new HarnessLog(context.config, session.id)
    return new AdoptedAppServerTurn({ session, trace, process, context, log })
  }
  const program = execProgram(context)
  const source = adoptedAttempts(trace, opts.signal)
  return processTurn({ program, session, turnId: trace.turnId, opts, source })
}
