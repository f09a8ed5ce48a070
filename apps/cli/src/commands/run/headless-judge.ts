import type { PermissionMode, PermissionRequestEvent } from '@chirality/core'
import {
  type AskContext,
  PolicyBook,
  type PolicyGuard,
  type PolicyJudge,
  type PolicyVerdict,
} from '@chirality/sessions'

/** Written rules, and no where they would have somebody asked: there is nobody. */
export class HeadlessJudge implements PolicyJudge {
  readonly #book = new PolicyBook()

  async judge(context: AskContext, request: PermissionRequestEvent): Promise<PolicyVerdict> {
    const verdict = await this.#book.judge(context, request)
    return verdict.effect === 'ask' ? { ...verdict, effect: 'deny' } : verdict
  }

  async guard(context: AskContext, mode: PermissionMode): Promise<PolicyGuard> {
    return { ...(await this.#book.guard(context, mode)), protects: false }
  }
}
