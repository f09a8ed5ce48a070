import { OneAfterTheOther } from '@chirality/disk'
import { type RawLogRule, readRawLogRule } from '@chirality/sessions'
import type { Centre } from '../centre.ts'

/** Applies the user's rule to the projects that this process has open, now and then: a size is of these together. */
export class RawLogKeeper {
  readonly #centre: Pick<Centre, 'host' | 'home'>
  readonly #timer: NodeJS.Timeout
  readonly #passes = new OneAfterTheOther()

  constructor(centre: Pick<Centre, 'host' | 'home'>, everyMs = HOUR_MS) {
    this.#centre = centre
    this.#timer = setInterval(() => void this.apply(), everyMs)
    this.#timer.unref()
  }

  /** One at a time. Never rejects: the next one tries again. */
  apply(): Promise<void> {
    return this.#passes.run(() => this.#apply())
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#passes.settled()
  }

  async #apply(): Promise<void> {
    const { host, home } = this.#centre
    const rule: RawLogRule = readRawLogRule(home)
    if (rule.keep === 'forever') return
    await host.pruneRawLogs(host.projects(), rule).catch((error: unknown) => host.logFault(error))
  }
}

const HOUR_MS = 60 * 60 * 1000
