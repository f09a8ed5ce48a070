import type { HarnessTurnOpts, TurnProcess, UIEvent } from '@chirality/core'
import type { HarnessLog } from './harness-log.ts'
import { type TurnFacts, type TurnNote, TurnNotes } from './turn-notes.ts'

export interface AdoptionRecordOptions {
  turnId: string
  /** Without it nobody will ever adopt the turn, and nothing is kept. */
  onProcess?: HarnessTurnOpts['onProcess']
  log: HarnessLog
}

/**
 * What a later Chirality needs to tell the turn again: its processes, its facts, and the events that its spool does not
 * hold. A record that cannot be written costs the adoption of the turn, never the turn.
 */
export class AdoptionRecord {
  readonly #options: AdoptionRecordOptions
  #notes: TurnNotes | null = null

  constructor(options: AdoptionRecordOptions) {
    this.#options = options
  }

  get isKept(): boolean {
    return this.#options.onProcess !== undefined
  }

  /** Opens the notes beside the spool that the turn is about to be printed to. */
  begin(spoolPath: string, facts?: TurnFacts): void {
    if (!this.isKept) return
    const notes = new TurnNotes({ spoolPath, turnId: this.#options.turnId })
    this.#notes = notes
    if (facts) this.#try(() => notes.facts(facts))
  }

  /** Goes on with the notes of an earlier Chirality. */
  resume(spoolPath: string): Promise<{ facts: TurnFacts; notes: TurnNote[] }> {
    this.#notes = new TurnNotes({ spoolPath, turnId: this.#options.turnId })
    return this.#notes.read()
  }

  /** From now on the turn can be found again. */
  tell(process: TurnProcess): void {
    this.#try(() => this.#options.onProcess?.(process))
  }

  /** An event that the spool does not hold. `after` is the offset of the last record before it. */
  note(event: UIEvent, after: number): UIEvent {
    this.#try(() => this.#notes?.add({ after, event }))
    return event
  }

  /** Only when the end of the turn was taken: until then a later Chirality needs it to tell the same events. */
  async forget(): Promise<void> {
    const notes = this.#notes
    this.#notes = null
    await notes?.remove().catch((error: unknown) => this.#untraced(error))
  }

  #try(step: () => unknown): void {
    try {
      step()
    } catch (error) {
      this.#untraced(error)
    }
  }

  #untraced(error: unknown): void {
    this.#options.log.write('error', 'turn:untraced', { error: String(error) })
  }
}
