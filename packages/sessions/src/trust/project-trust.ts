import type { ProjectFile, SessionHarness } from '@chirality/core'
import { StorageError } from '@chirality/disk'
import type { HarnessRegistry } from '@chirality/runner'
import { fingerprintOf, TrustStore, type TrustStoreOptions } from './trust-store.ts'

/** The executable settings of a project, and whether the user trusted exactly these. */
export interface ProjectTrustState {
  files: ProjectFile[]
  /** Of these files. Pass it to `allow` to trust them. */
  fingerprint: string
  /** Also false when there are no files to trust. */
  isTrusted: boolean
  /** Why the files cannot be trusted. */
  problem?: string
}

/** Decides whether the agents of a project may use its settings, hooks and servers. */
export class ProjectTrust {
  readonly #harnesses: HarnessRegistry<SessionHarness>
  readonly #store: TrustStore
  /** By session: the fingerprint of the unused files that the user was told about. */
  readonly #told = new Map<string, string>()

  constructor(harnesses: HarnessRegistry<SessionHarness>, options: TrustStoreOptions = {}) {
    this.#harnesses = harnesses
    this.#store = new TrustStore(options)
  }

  /** The current state on the disk: of the files in `folder`, by what the user agreed to for the project. */
  async state(projectRoot: string, folder = projectRoot): Promise<ProjectTrustState> {
    const files = new Map<string, ProjectFile>()
    let problem: string | undefined
    for (const harness of this.#harnesses.getAll()) {
      const found = await harness.projectFiles?.(folder)
      for (const file of found?.files ?? []) files.set(file.path, file)
      problem ??= found?.problem
    }
    const all = [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
    const fingerprint = fingerprintOf(all.map(({ path, content }) => ({ path, bytes: content })))
    const isAgreed = problem === undefined && all.length > 0
    const isTrusted = isAgreed && this.#store.isTrusted(projectRoot, KIND, fingerprint)
    return { files: all, fingerprint, isTrusted, ...(problem === undefined ? {} : { problem }) }
  }

  /** Throws when the files have changed since they were shown. */
  async allow(projectRoot: string, fingerprint: string): Promise<ProjectTrustState> {
    const now = await this.state(projectRoot)
    if (now.problem !== undefined)
      throw new StorageError('unsafe', projectRoot, `These files cannot be trusted: ${now.problem}`)
    if (now.fingerprint !== fingerprint)
      throw new StorageError(
        'changed',
        projectRoot,
        'The files have changed since they were shown. Look at them again.',
      )
    await this.#store.trust(projectRoot, KIND, fingerprint)
    return this.state(projectRoot)
  }

  /** The message about unused files, once per session and again when they change. */
  untold(sessionId: string, state: ProjectTrustState): string | undefined {
    if (state.isTrusted || (state.files.length === 0 && state.problem === undefined)) return undefined
    if (this.#told.get(sessionId) === state.fingerprint) return undefined
    if (this.#told.size >= MAX_TOLD) this.#told.clear()
    this.#told.set(sessionId, state.fingerprint)
    return describeUntrusted(state)
  }

  async revoke(projectRoot: string): Promise<ProjectTrustState> {
    await this.#store.revoke(projectRoot, KIND)
    return this.state(projectRoot)
  }
}

const KIND = 'agent-files'
const MAX_TOLD = 10_000

export function describeUntrusted({ files, problem }: ProjectTrustState): string {
  const shown = files.slice(0, 3).map(({ path }) => path)
  const names = files.length > 3 ? [...shown, `${files.length - 3} more`] : shown
  const remedy =
    problem === undefined
      ? 'Look at them first: in the dashboard above the message field, or with chirality trust show.'
      : problem
  return `This project brings its own agent settings (${names.join(', ')}); they are not used. ${remedy}`
}
