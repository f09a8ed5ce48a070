import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ClaimStore, Claims, judgeClaim } from './claims.ts'

/** A subject with compare-and-set, whose answers can be lost and whose readers can be cut off. */
class Register implements ClaimStore {
  readonly #messages: Uint8Array[] = []
  /** Outcome of the next call. */
  next: 'work' | 'cut' | 'lose-answer' = 'work'

  async last(): Promise<{ seq: number; body: Uint8Array } | undefined> {
    if (this.#taken() === 'cut') throw new Error('cut off')
    const body = this.#messages.at(-1)
    return body && { seq: this.#messages.length, body }
  }

  async publish(_: string, body: Uint8Array, { after }: { after: number }) {
    const fault = this.#taken()
    if (fault === 'cut') throw new Error('cut off')
    const isNext = after === this.#messages.length
    if (isNext) this.#messages.push(body)
    if (fault === 'lose-answer') throw new Error('no answer')
    return { kind: isNext ? 'stored' : 'conflict' } as const
  }

  #taken(): string {
    const { next } = this
    this.next = 'work'
    return next
  }

  history(): { machine: string; epoch: number; done: boolean }[] {
    return this.#messages.map(body => JSON.parse(Buffer.from(body).toString()))
  }
}

describe('a claim', () => {
  test('has one owner in each epoch, is finished once and never begun after that, whatever is cut or lost', async () => {
    const machines = ['a', 'b', 'c'] as const
    const step = fc.record({
      machine: fc.constantFrom(...machines),
      action: fc.constantFrom('take' as const, 'take-over' as const, 'finish' as const),
      fault: fc.constantFrom('work' as const, 'work' as const, 'cut' as const, 'lose-answer' as const),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
        const register = new Register()
        const claims = new Map(machines.map(name => [name, new Claims(register, name)]))
        const epochs = new Map<string, number>()
        const finished: string[] = []
        for (const { machine, action, fault } of steps) {
          register.next = fault
          const epoch = epochs.get(machine) ?? 1
          const wanted = action === 'take' ? { kind: action } : { kind: action, epoch }
          const result = await claims
            .get(machine)
            ?.step('work', wanted)
            .catch(() => undefined)
          if (result?.claim !== undefined) epochs.set(machine, result.claim.epoch)
          if (result?.kind === 'held' && action === 'finish') finished.push(machine)
        }
        const history = register.history()
        for (const [i, claim] of history.entries()) {
          const before = history[i - 1]
          if (before === undefined) expect(claim).toMatchObject({ epoch: 1, done: false })
          else if (claim.done) expect(claim).toEqual({ ...before, done: true })
          else expect(claim.epoch).toBe(before.epoch + 1)
          expect(before?.done ?? false).toBe(false)
        }
        // Only the one that the register names may say that it finished.
        const owner = history.at(-1)
        expect(finished.every(machine => owner?.done && machine === owner.machine)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  test('goes to one machine when several take it at once', async () => {
    const register = new Register()
    const results = await Promise.all(
      ['a', 'b', 'c', 'd'].map(machine => new Claims(register, machine).step('work', { kind: 'take' })),
    )
    expect(results.filter(({ kind }) => kind === 'held')).toHaveLength(1)
    expect(register.history()).toHaveLength(1)
  })

  test('is stale for a machine that returns after another one replaced it', () => {
    const stored = { machine: 'b', epoch: 2, done: false }
    expect(judgeClaim('a', { kind: 'finish', epoch: 1 }, stored)).toMatchObject({
      kind: 'refused',
      why: 'stale',
    })
    expect(judgeClaim('a', { kind: 'take' }, stored)).toMatchObject({ kind: 'refused', why: 'other' })
  })

  test('is taken by nobody when it cannot be read', async () => {
    const register = new Register()
    await register.publish('', Buffer.from('not json'), { after: 0 })
    const result = await new Claims(register, 'a').step('work', { kind: 'take' })
    expect(result).toMatchObject({ kind: 'refused', why: 'done' })
  })

  test('with a wrong number, machine or group is nobody’s to take', async () => {
    const sound = { machine: 'a', epoch: 1, done: false }
    const of = { hub: 'hub', list: 'list', group: 'loop', number: 1 }
    const wrong: unknown[] = [
      ...[0, -1, 1.5, Number.MAX_SAFE_INTEGER + 1, '1', null].map(epoch => ({ ...sound, epoch })),
      ...['', '../a', 'A', 'a.b', '*', 'x'.repeat(99)].map(machine => ({ ...sound, machine })),
      ...[
        { ...of, hub: '>' },
        { ...of, number: 0 },
        { ...of, group: 'x'.repeat(201) },
        { ...of, list: '' },
        7,
      ].map(group => ({ ...sound, of: group })),
      ...[[], 'a', 1, null],
    ]
    for (const claim of wrong) {
      const register = new Register()
      await register.publish('', Buffer.from(JSON.stringify(claim)), { after: 0 })
      for (const step of [
        { kind: 'take' },
        { kind: 'take-over', epoch: 1 },
        { kind: 'finish', epoch: 1 },
      ] as const)
        expect(await new Claims(register, 'a').step('work', step)).toMatchObject({ kind: 'refused' })
      expect(register.history()).toHaveLength(1)
    }
    const register = new Register()
    await register.publish('', Buffer.from(JSON.stringify({ ...sound, of })), { after: 0 })
    expect(await new Claims(register, 'a').step('work', { kind: 'take' })).toMatchObject({ claim: { of } })
  })

  test('is not over when the list of groups cannot be read', async () => {
    const of = { hub: 'hub', list: 'list', group: 'loop', number: 1 }
    const sound = { id: 'list', last: 3, open: [['other', 2]] }
    const isOver = async (list: unknown) => {
      const register = new Register()
      await register.publish('', Buffer.from(JSON.stringify(list)), { after: 0 })
      return new Claims(register, 'a').isOver(of)
    }
    expect(await isOver(sound)).toBe(true)
    const unread = [
      { ...sound, last: '3' },
      { ...sound, open: { loop: 1 } },
      { ...sound, open: [['x', 0]] },
      null,
    ]
    // Groups of other brokers, of an older list, and open ones.
    const not = [
      { ...sound, id: 'other' },
      { ...sound, last: 0 },
      { ...sound, open: [['loop', 1]] },
    ]
    for (const list of [...unread, ...not]) expect(await isOver(list)).toBe(false)
    // Opened again since: that is another number.
    expect(await isOver({ ...sound, open: [['loop', 3]] })).toBe(true)
  })
})
