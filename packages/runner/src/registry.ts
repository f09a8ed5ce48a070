import {
  ACP_ID_PREFIX,
  type Harness,
  HarnessError,
  type HarnessId,
  type HarnessInstallStatus,
} from '@chirality/core'
import { KNOWN_AGENTS } from './acp/agent-spec.ts'

/** The harnesses an app knows, by their id. */
export class HarnessRegistry<H extends Harness = Harness> {
  readonly #harnesses = new Map<HarnessId, H>()

  register(harness: H): void {
    if (this.#harnesses.has(harness.id)) {
      throw new HarnessError(`The harness ${harness.id} is registered already.`, 'invalid_query', harness.id)
    }
    this.#harnesses.set(harness.id, harness)
  }

  /** Returns the harness that was registered. Turns that run with it go on. */
  unregister(id: HarnessId): H | undefined {
    const harness = this.#harnesses.get(id)
    this.#harnesses.delete(id)
    return harness
  }

  get(id: HarnessId): H | undefined {
    return this.#harnesses.get(id)
  }

  getOrThrow(id: HarnessId): H {
    const harness = this.#harnesses.get(id)
    if (harness) return harness
    const spec = KNOWN_AGENTS.find(({ name }) => `${ACP_ID_PREFIX}${name}` === id)
    if (spec !== undefined) {
      const how = spec.install?.includes(' install ') ? `Install it with \`${spec.install}\`` : spec.install
      const advice = how === undefined ? `Install ${spec.command}` : how
      throw new HarnessError(
        `${spec.title ?? spec.name} (${id}) is known, but ${spec.command} is not on the PATH of this machine. ${advice}, and start Chirality again.`,
        'not_installed',
        id,
      )
    }
    const known = [...this.#harnesses.keys()].join(', ') || 'none'
    throw new HarnessError(`There is no harness ${id}. Known: ${known}.`, 'invalid_query', id)
  }

  getAll(): H[] {
    return [...this.#harnesses.values()]
  }

  has(id: HarnessId): boolean {
    return this.#harnesses.has(id)
  }

  /** All at once; one that fails to answer is reported as not installed, with the reason. Rejects when they are closed meanwhile. */
  async checkAllInstallStatus(): Promise<Map<HarnessId, HarnessInstallStatus>> {
    const entries = this.getAll().map(async harness => [harness.id, await statusOf(harness)] as const)
    return new Map(await Promise.all(entries))
  }
}

async function statusOf(harness: Harness): Promise<HarnessInstallStatus> {
  try {
    return await harness.checkInstallStatus()
  } catch (error) {
    if (error instanceof HarnessError && error.code === 'aborted') throw error
    const authInstructions = `Its status could not be read: ${error instanceof Error ? error.message : String(error)}`
    return { installed: false, authType: 'none', authenticated: false, authInstructions }
  }
}
