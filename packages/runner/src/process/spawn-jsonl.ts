import { type HarnessEvent, type NdjsonRecord, unreachable } from '@chirality/core'
import {
  type AgentProcess,
  type AgentProcessOptions,
  outputOf,
  type ProcessExit,
  spawnAgent,
} from './agent-process.ts'
import type { StopOptions } from './stop/stop.ts'

export interface SpawnJsonlOptions<M> extends AgentProcessOptions {
  signal: AbortSignal
  /** Receives every line of stdout, also lines that are not JSON or too long. */
  parseRecord: (record: NdjsonRecord) => HarnessEvent<M>[]
  /** Receives the last part of stderr, at most 64 KB. */
  onExit?:
    | ((exit: ProcessExit & Pick<AgentProcess, 'fault'>, stderr: string) => HarnessEvent<M>[])
    | undefined
  onSpawn?(process: AgentProcess): void
  stop?: StopOptions | undefined
}

/**
 * Runs a program that prints NDJSON, and yields the results of `parseRecord`. On abort, and when the consumer leaves,
 * the program is stopped with everything it started. After an abort its remaining output is still yielded, because an
 * interrupted agent prints its result then.
 */
export async function* spawnJsonl<M>(options: SpawnJsonlOptions<M>): AsyncGenerator<HarnessEvent<M>> {
  const { signal, parseRecord, onExit } = options
  if (signal.aborted) return options.spool.discard()
  const agent = await spawnAgent(options)
  const stop = () => agent.stop(options.stop)
  const stderr = new TextTail(MAX_STDERR_CHARS)
  signal.addEventListener('abort', stop, { once: true })
  try {
    if (signal.aborted) stop()
    options.onSpawn?.(agent)
    for await (const output of outputOf(agent)) {
      switch (output.kind) {
        case 'record':
          for (const event of parseRecord(output.record)) yield event
          break
        case 'stderr':
          stderr.add(`${output.line}\n`)
          yield { type: 'stderr', data: output.line }
          break
        case 'spool-damaged':
          yield {
            type: 'stderr',
            data: `Chirality: the raw log ${output.path} was ${output.damage} while in use`,
          }
          break
        default:
          unreachable(output)
      }
    }
    const exit = await agent.exited
    yield* onExit?.({ ...exit, fault: agent.fault }, stderr.text()) ?? []
  } finally {
    signal.removeEventListener('abort', stop)
    await stop()
    await agent.close()
  }
}

const MAX_STDERR_CHARS = 64 * 1024

/** Keeps the end of a long text. Cuts rarely, so that a flood of short lines stays cheap. */
class TextTail {
  readonly #maxChars: number
  #text = ''

  constructor(maxChars: number) {
    this.#maxChars = maxChars
  }

  add(text: string): void {
    this.#text += text
    if (this.#text.length > 2 * this.#maxChars) this.#text = this.text()
  }

  text(): string {
    return this.#text.slice(-this.#maxChars)
  }
}
