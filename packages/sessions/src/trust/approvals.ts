import { fingerprintOf, TrustStore, type TrustStoreOptions } from './trust-store.ts'

export type ApprovalsOptions = TrustStoreOptions

/** What the user approved of one file of a project, by content: another content is not approved. */
export class Approvals {
  readonly #store: TrustStore

  constructor(options: ApprovalsOptions = {}) {
    this.#store = new TrustStore({ ...options, keep: 1 })
  }

  /** Whether exactly this content was approved. A file of approvals that cannot be read approves nothing. */
  isApproved(projectRoot: string, subject: string, content: string): boolean {
    return this.#store.isTrusted(projectRoot, subject, digest(subject, content))
  }

  async approve(projectRoot: string, subject: string, content: string): Promise<void> {
    await this.#store.trust(projectRoot, subject, digest(subject, content))
  }

  async revoke(projectRoot: string, subject: string): Promise<void> {
    await this.#store.revoke(projectRoot, subject)
  }
}

function digest(subject: string, content: string): string {
  return fingerprintOf([{ path: subject, bytes: content }])
}
