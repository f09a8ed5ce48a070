import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isCodedError } from '@chirality/core'
import { OneAfterTheOther } from '@chirality/disk'
import { z } from 'zod'
import { write } from '../engine/fleet-files.ts'
import { fleetError } from '../fleet-error.ts'
import { inWindow } from '../in-window.ts'
import { subjects } from '../subjects.ts'
import { type ClaimStore, parseClaim } from './claims.ts'
import { type GroupRef, isOver, type OpenGroups, readOpenGroups } from './open-groups.ts'

/** Where claims are kept and removed: `Link` is one. Only hubs may list and purge. */
export interface GroupStore extends ClaimStore {
  /** The subjects of a stream that have a message. */
  subjectsOf(kind: 'claims'): Promise<string[]>
  /** Removes the messages of a subject up to a number. */
  purge(kind: 'claims', subject: string, upTo: number): Promise<void>
}

export interface WorkGroupsOptions {
  own: string
  /** What this hub knows of the groups that it opened. */
  file: string
  /** Undefined while there is no connection. */
  store: () => GroupStore | undefined
  onFault?: ((error: unknown) => void) | undefined
}

const entry = z.object({
  ...{ group: z.string(), list: z.string(), number: z.number().int() },
  /** Null if the broker has it open and this hub's file was lost: claims do not name the project. */
  project: z.string().nullable(),
  /** Nothing of it is away. It was written before the broker heard of it. */
  isEnded: z.boolean(),
})
type Entry = z.infer<typeof entry>

/**
 * The groups of work that this hub gives to machines: a loop is one. The broker has one record for each hub, with the
 * groups that are open and a number that grows. A group that is not in it, and whose number is not above, is over: so
 * nothing has to be kept of a group that is over, and yet no claim of it counts again.
 *
 * The end of a group: this hub notes it, takes the group out of the record, forgets it, and purges its claims. A hub that is
 * killed in between finds the note, or claims of no open group, when it runs again.
 *
 * A hub whose file was lost takes every open group with a claim from the record, ended or not: a machine may be at work for
 * it. Whoever knows what the group was ends it.
 */
export class WorkGroups {
  readonly #options: WorkGroupsOptions
  #entries: ReadonlyMap<string, Entry> | undefined
  /** Changes of the file, one after the other. */
  readonly #saving = new OneAfterTheOther()
  /** Changes of the broker's record, one after the other. */
  readonly #turn = new OneAfterTheOther()
  #finishing: Promise<void> | undefined
  /** Groups that were taken out of the record and may have claims. Undefined: any may, since this process has just begun. */
  #unswept: Set<string> | undefined
  #nextTry = 0
  #problem = ''

  constructor(options: WorkGroupsOptions) {
    this.#options = options
  }

  /** Those that this hub opened and did not end. Throws if its file cannot be read. */
  list(): { group: string; project: string | null }[] {
    return [...this.#known.values()].filter(({ isEnded }) => !isEnded)
  }

  /**
   * The group, which is opened unless it is. Rejects with `work-stale` if the broker says that it is over and this hub does
   * not know why: then its files are those of an earlier day, and what they have as open was done.
   */
  open(group: string, project: string): Promise<GroupRef> {
    return this.#turn.run(async () => {
      if (this.#known.get(group)?.isEnded) await this.#takeOut(group)
      const known = this.#known.get(group)
      for (;;) {
        const { seq, stored } = await this.#read()
        if (known !== undefined && stored?.id === known.list && stored.last >= known.number) {
          if (stored.open.get(group) !== known.number) throw stale(group)
          return known.project === null ? this.#note({ ...known, project }) : this.#ref(known)
        }
        // A process that was killed had opened it, and had not noted that.
        const number = stored?.open.get(group)
        if (stored !== undefined && number !== undefined && known === undefined)
          return this.#note({ group, project, list: stored.id, number, isEnded: false })
        const last = Math.max(stored?.last ?? 0, known?.number ?? 0) + 1
        const list = { id: stored?.id ?? randomUUID(), last, open: new Map(stored?.open).set(group, last) }
        if (await this.#write(list, seq))
          return this.#note({ group, project, list: list.id, number: last, isEnded: false })
      }
    })
  }

  /** Nothing of it is away any more. Resolves when that is noted, without the broker, which is told soon. */
  async end(group: string): Promise<void> {
    if (!this.#known.has(group)) return
    await this.#change(entries => {
      const known = entries.get(group)
      if (known !== undefined) entries.set(group, { ...known, isEnded: true })
    })
    this.#nextTry = 0
  }

  /** Now and then: what has ended is purged, and once after a start what a killed process left. */
  finishSoon(): void {
    if (performance.now() < this.#nextTry || this.#options.store() === undefined) return
    // The file was read before anything was swept.
    if (this.#unswept?.size === 0 && this.#ended().length === 0) return
    this.#nextTry = performance.now() + AGAIN_MS
    void this.finish().then(
      () => {
        this.#problem = ''
      },
      error => this.#say(error),
    )
  }

  finish(): Promise<void> {
    this.#finishing ??= this.#finish().finally(() => {
      this.#finishing = undefined
    })
    return this.#finishing
  }

  async #finish(): Promise<void> {
    await this.#turn.run(async () => {
      for (const group of this.#ended()) await this.#takeOut(group)
      if (this.#unswept === undefined) await this.#settleUnknown()
    })
    const groups = this.#unswept
    this.#unswept = new Set()
    try {
      await this.#sweep(groups)
    } catch (error) {
      for (const group of groups ?? []) this.#unswept.add(group)
      if (groups === undefined) this.#unswept = undefined
      throw error
    }
  }

  #ended(): string[] {
    return [...this.#known.values()].flatMap(({ group, isEnded }) => (isEnded ? [group] : []))
  }

  /** From then on no claim of it counts. */
  async #takeOut(group: string): Promise<void> {
    const known = this.#known.get(group)
    await this.#remove(group, ({ id, open }) => id === known?.list && open.get(group) === known.number)
    this.#unswept?.add(group)
    await this.#change(entries => entries.delete(group))
  }

  /**
   * Opened by a process that was killed before it had noted it, so there is no claim, or this hub's file was lost. A claim
   * that is done counts, too: its result may not be in the files of the loop yet.
   */
  async #settleUnknown(): Promise<void> {
    const { stored } = await this.#read()
    const unknown = [...(stored?.open ?? [])].filter(([group]) => !this.#known.has(group))
    if (stored === undefined || unknown.length === 0) return
    const claimed = await this.#claimed(stored, new Set(unknown.map(([group]) => group)))
    for (const [group, number] of unknown)
      if (claimed.has(number))
        await this.#note({ group, project: null, list: stored.id, number, isEnded: false })
      else await this.#remove(group, ({ open }) => open.get(group) === number)
  }

  /** The numbers of those groups of this hub that have a claim. */
  async #claimed({ id }: OpenGroups, groups: ReadonlySet<string>): Promise<Set<number>> {
    const claimed = new Set<number>()
    await this.#eachClaim(groups, ({ of }) => {
      if (of.list === id) claimed.add(of.number)
    })
    return claimed
  }

  async #remove(group: string, isIn: (stored: OpenGroups) => boolean): Promise<void> {
    for (;;) {
      const { seq, stored } = await this.#read()
      if (stored === undefined || !isIn(stored)) return
      const open = new Map(stored.open)
      open.delete(group)
      if (await this.#write({ ...stored, open }, seq)) return
    }
  }

  /** Purges claims of this hub whose group is not open. A group that is opened meanwhile has a higher number. */
  async #sweep(groups: ReadonlySet<string> | undefined): Promise<void> {
    const store = this.#store()
    const { stored } = await this.#read()
    if (stored === undefined) return
    await this.#eachClaim(groups, async ({ of, subject, seq }) => {
      if (isOver(stored, of)) await store.purge('claims', subject, seq)
    })
  }

  /** The last claims of this hub, of the groups or of all. */
  async #eachClaim(
    groups: ReadonlySet<string> | undefined,
    work: (claim: { of: GroupRef; subject: string; seq: number }) => void | Promise<void>,
  ): Promise<void> {
    const store = this.#store()
    const names = groups && [...groups].map(group => `${subjects.claim(group)}-`)
    const found = (await store.subjectsOf('claims')).filter(
      subject => names?.some(name => subject.startsWith(name)) ?? true,
    )
    await inWindow(found, WINDOW, async subject => {
      const last = await store.last('claims', subject)
      const of = parseClaim(last?.body)?.of
      if (last !== undefined && of?.hub === this.#options.own) await work({ of, subject, seq: last.seq })
    })
  }

  async #read(): Promise<{ seq: number; stored: OpenGroups | undefined }> {
    const { seq = 0, list } = await readOpenGroups(this.#store(), this.#options.own)
    return { seq, stored: list }
  }

  async #write({ id, last, open }: OpenGroups, after: number): Promise<boolean> {
    const body = Buffer.from(JSON.stringify({ id, last, open: [...open] }))
    const subject = subjects.openGroups(this.#options.own)
    return (await this.#store().publish(subject, body, { after })).kind === 'stored'
  }

  #store(): GroupStore {
    const store = this.#options.store()
    if (store === undefined) throw fleetError('machine-away', 'This machine is not connected to its fleet.')
    return store
  }

  #ref({ group, list, number }: Entry): GroupRef {
    return { hub: this.#options.own, list, group, number }
  }

  async #note(noted: Entry): Promise<GroupRef> {
    await this.#change(entries => entries.set(noted.group, noted))
    return this.#ref(noted)
  }

  /** On the disk first: with a full disk, what the broker is told would be what the next process does not know. */
  #change(change: (entries: Map<string, Entry>) => void): Promise<void> {
    return this.#saving.run(async () => {
      const entries = new Map(this.#known)
      change(entries)
      const { file } = this.#options
      try {
        await write(file, JSON.stringify([...entries.values()]))
      } catch (error) {
        throw fleetError('work-failed', `${file} cannot be written: ${messageOf(error)}.`, error)
      }
      this.#entries = entries
    })
  }

  get #known(): ReadonlyMap<string, Entry> {
    this.#entries ??= new Map(readEntries(this.#options.file).map(one => [one.group, one]))
    return this.#entries
  }

  /** Once for each reason. That no broker answers is said elsewhere. */
  #say(error: unknown): void {
    if (!isCodedError(error) || error.code === 'machine-away' || error.message === this.#problem) return
    this.#problem = error.message
    this.#options.onFault?.(error)
  }
}

/** A damaged file is as none: the groups that have claims are taken from the broker, and the others opened anew. */
function readEntries(file: string): Entry[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    const why = `${file} cannot be read: ${messageOf(error)}. Until it can, no task is given to a machine and nothing is removed from the brokers.`
    throw fleetError('work-failed', why, error)
  }
  try {
    return z.array(entry).parse(JSON.parse(text))
  } catch {
    return []
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function stale(group: string): Error {
  return fleetError(
    'work-stale',
    `The fleet has ${group} as over, and this hub has it as open: its files are of an earlier time, perhaps from a backup. Nothing of it is given to a machine again. Start a new loop for what is left.`,
  )
}

const AGAIN_MS = 30_000
const WINDOW = 8
