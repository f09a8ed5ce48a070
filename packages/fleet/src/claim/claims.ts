import { z } from 'zod'
import { isMachineName, subjects } from '../subjects.ts'
import { type ClaimReader, type GroupRef, groupRef, isGroupOver } from './open-groups.ts'

/**
 * The stored owner of a piece of work. A claim is never withdrawn: the next owner writes one with the next epoch. It is
 * purged when its group is over.
 */
export interface Claim {
  machine: string
  epoch: number
  /** The result is stored, so nobody starts this work again. */
  done: boolean
  /** Missing in claims written by an earlier version; those are never purged. */
  of?: GroupRef | undefined
}

const claim = z.object({
  machine: z.string().refine(isMachineName),
  epoch: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
  done: z.boolean(),
  of: groupRef.optional(),
})

export type ClaimStep =
  | { kind: 'take'; of?: GroupRef }
  /** Replaces the claim of a machine that is gone. `epoch` is the one that the caller saw. */
  | { kind: 'take-over'; epoch: number }
  | { kind: 'finish'; epoch: number }

export type JudgedClaim =
  | { kind: 'write'; claim: Claim }
  /** The claim is stored already: the answer to an earlier attempt was lost. */
  | { kind: 'held'; claim: Claim }
  | { kind: 'refused'; why: 'done' | 'other' | 'stale'; claim: Claim | undefined }

/**
 * Decides which claim a machine may write, given the stored one. Pure: the broker accepts the claim only if nothing was
 * stored in between.
 */
export function judgeClaim(machine: string, step: ClaimStep, stored: Claim | undefined): JudgedClaim {
  if (stored === undefined) {
    if (step.kind === 'take') return { kind: 'write', claim: { machine, epoch: 1, done: false, of: step.of } }
    return { kind: 'refused', why: 'stale', claim: undefined }
  }
  const isOwn = stored.machine === machine
  if (step.kind === 'finish') {
    if (!isOwn || stored.epoch !== step.epoch) return { kind: 'refused', why: 'stale', claim: stored }
    return stored.done ? { kind: 'held', claim: stored } : { kind: 'write', claim: { ...stored, done: true } }
  }
  if (stored.done) return { kind: 'refused', why: 'done', claim: stored }
  if (step.kind === 'take') {
    return isOwn ? { kind: 'held', claim: stored } : { kind: 'refused', why: 'other', claim: stored }
  }
  if (stored.epoch === step.epoch)
    return { kind: 'write', claim: { ...stored, machine, epoch: stored.epoch + 1, done: false } }
  const isOurs = isOwn && stored.epoch === step.epoch + 1
  return isOurs ? { kind: 'held', claim: stored } : { kind: 'refused', why: 'stale', claim: stored }
}

/** Storage of claims, implemented by `Link`. */
export interface ClaimStore extends ClaimReader {
  /** Stores the message only if the last message of the subject has the number `after`. */
  publish(
    subject: string,
    body: Uint8Array,
    options: { after: number },
  ): Promise<{ kind: 'stored' } | { kind: 'conflict' }>
}

/**
 * Claims work by compare-and-set, never by the lease of a queue. The stored claim is read from the leader before it is
 * judged, and again after a conflict or a lost acknowledgement, so a refusal always rests on a fresh read.
 */
export class Claims {
  readonly #store: ClaimStore
  readonly #machine: string

  constructor(store: ClaimStore, machine: string) {
    this.#store = store
    this.#machine = machine
  }

  async read(id: string): Promise<Claim | undefined> {
    return parseClaim((await this.#store.last('claims', subjects.claim(id)))?.body)
  }

  /** True if the group of a missing claim is over, so the claim was purged. */
  isOver(of: GroupRef): Promise<boolean> {
    return isGroupOver(this.#store, of)
  }

  /** Rejects if the broker cannot be asked: without its answer no work may start. */
  async step(id: string, step: ClaimStep): Promise<Exclude<JudgedClaim, { kind: 'write' }>> {
    for (;;) {
      const last = await this.#store.last('claims', subjects.claim(id))
      const judged = judgeClaim(this.#machine, step, parseClaim(last?.body))
      if (judged.kind !== 'write') return judged
      const body = Buffer.from(JSON.stringify(judged.claim))
      const published = await this.#store.publish(subjects.claim(id), body, { after: last?.seq ?? 0 })
      if (published.kind === 'stored') return { kind: 'held', claim: judged.claim }
    }
  }
}

/** An unreadable claim counts as done by an unknown machine, so nobody takes it. */
export function parseClaim(body: Uint8Array | undefined): Claim | undefined {
  if (body === undefined) return undefined
  try {
    return claim.parse(JSON.parse(Buffer.from(body).toString()))
  } catch {
    return { machine: '?', epoch: Number.MAX_SAFE_INTEGER, done: true }
  }
}
