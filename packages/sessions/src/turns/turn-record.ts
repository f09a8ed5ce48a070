import type { TurnProcess } from '@chirality/core'
import type { TurnRecord, TurnRecordFile } from './turn-record-file.ts'

/** Keeps the record of a turn in step with the processes that print for it. */
export class TurnRecordKeeper {
  readonly #file: TurnRecordFile
  #record: TurnRecord
  #closed = false

  constructor(file: TurnRecordFile, record: TurnRecord) {
    this.#file = file
    this.#record = record
  }

  write(): void {
    this.#file.write(this.#record)
  }

  add(process: TurnProcess): void {
    this.#record = { ...this.#record, processes: [...this.#record.processes, process] }
    this.write()
  }

  /** Another attempt: what the first one printed is in the log up to here. */
  again(afterSeq: number): void {
    this.#record = { ...this.#record, processes: [], afterSeq }
    this.write()
  }

  /** The turn has ended: from here on its file is missing because it is to be. */
  close(): void {
    this.#closed = true
  }

  /** Writes the file again if somebody deleted it. */
  async repair(): Promise<boolean> {
    if (this.#closed || this.#file.exists()) return false
    await this.#file.prepare()
    if (this.#closed) return false
    this.write()
    return true
  }
}
