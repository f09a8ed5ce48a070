import type { NdjsonRecord } from '@chirality/core'
import type { RunnerLogEntry } from '../common/log-entry.ts'
import { redactArgs } from '../env/secrets.ts'
import type { AgentProcess, ProcessExit } from '../process/agent-process.ts'
import type { Invocation, TurnConfig } from './turn-program.ts'

/** The lines of the harness log. They never contain the environment or the prompt, because both can hold secrets. */
export class TurnLog {
  readonly #onLog: TurnConfig['onLog']
  readonly #sessionId: string | undefined

  constructor(config: TurnConfig, sessionId?: string) {
    this.#onLog = config.onLog
    this.#sessionId = sessionId
  }

  spawned(
    { command, args, cwd }: Pick<Invocation, 'command' | 'args' | 'cwd'>,
    { pid, spoolPath }: AgentProcess,
  ): void {
    this.write('info', 'process:spawn', { command, args: redactArgs(args), cwd, pid, spool: spoolPath })
  }

  stderr(line: string): void {
    this.write('warn', 'stderr', { line: line.slice(0, MAX_LINE_CHARS) })
  }

  record(record: NdjsonRecord): void {
    if (record.kind === 'malformed')
      this.write('warn', 'parse:error', {
        line: record.text.slice(0, MAX_LINE_CHARS),
        bytes: record.bytes,
        ...(record.lines === undefined ? {} : { lines: record.lines }),
      })
    if (record.kind === 'oversize') this.write('warn', 'parse:error', { bytes: record.bytes })
  }

  exited({ code, signal, durationMs, stopped }: ProcessExit, fault: string | null): void {
    const lost = fault === null ? {} : { fault }
    this.write('info', 'process:exit', { code, signal, durationMs: Math.round(durationMs), stopped, ...lost })
  }

  /** An internal error, with its stack. */
  fault(event: string, error: unknown): void {
    const { stack } = error instanceof Error ? error : {}
    this.write('error', event, { error: String(error), ...(stack === undefined ? {} : { stack }) })
  }

  write(level: RunnerLogEntry['level'], event: string, data: Record<string, unknown>): void {
    const sessionId = this.#sessionId
    try {
      this.#onLog?.({ level, event, ...(sessionId === undefined ? {} : { sessionId }), data })
    } catch {
      // A log file that cannot be written must not end a turn.
    }
  }
}

const MAX_LINE_CHARS = 500
