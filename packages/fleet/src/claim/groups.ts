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
import { type GroupRef, isClosedIn, type OpenGroups, readOpenGroups } from './open-groups.ts'

/** Storage that can also list and purge claims, implemented by `Link`. Only hubs have the rights. */
export interface GroupStore extends ClaimStore {
  /** The subjects of a stream that have a message. */
  subjectsOf(kind: 'claims'): Promise<string[]>
  /** Removes the messages of a subject up to a number. */
  purge(kind: 'claims', subject: string, upTo: number): Promise<void>
}

export interface WorkGroupsOptions {
  own: string
  /** The groups that this hub opened. */
  file: string
  /** Undefined while there is no connection. */
  store: () => GroupStore | undefined
  onFault?: ((error: unknown) => void) | undefined
}

const entry = z.object({
  group: z.string(),
  list: z.string(),
  number: z.number().int(),
  /** Null if only the broker has the group as open, because this hub lost its file: claims do not name the project. */
  project: z.string().nullable(),
  /** No task of the group is at another machine any more. Stored here before the broker hears of it. */
  isEnded: z.boolean(),
})
type Entry = z.infer<typeof entry>

/**
 * The groups of work that this hub gives to machines; a loop is one group. The broker keeps one record per hub: the
 * open groups and a counter. A group is over if its number is at most the counter and it is not in the record, so
 * nothing has to be kept of groups that are over, and none of their claims counts again. A group ends in four steps:
 * this hub notes the end, takes the group out of the record, forgets it, and purges its claims. A hub that is killed in
 * between finds the note, or claims of a closed group, at its next start. A hub that lost its file restores every group
 * with claims from the record, ended or not, because a machine may be at work for it; the loop that owns the group ends
 * it.
 */
export class WorkGroups {
  readonly #options: WorkGroupsOptions
  #entries: ReadonlyMap<string, Entry> | undefined
  /** Writes of the file, one at a time. */
  readonly #saving = new OneAfterTheOther()
  /** Changes of the broker's record, one at a time. */
  readonly #turn = new OneAfterTheOther()
  #finishing: Promise<void> | undefined
  /** Groups that left the record and may still have claims. Undefined after a start: any group may. */
  #unswept: Set<string> | undefined
  #nextTry = 0
  #problem = ''

  constructor(options: WorkGroupsOptions) {
    this.#options = options
  }

  /** Open groups of this hub. Throws if its file cannot be read. */
  list(): { group: string; project: string | null }[] {
    return [...this.#known.values()].filter(({ isEnded }) => !isEnded)
  }

  /**
   * Opens the group unless it is open. Rejects with `work-stale` if the broker says that it is over and this hub never
   * ended it: then the hub's files are from an earlier day, and its open work was done since.
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
        // A killed process opened the group at the broker and did not note it here.
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

  /** Notes that no task of the group is away any more. Resolves without the broker, which is told soon after. */
  async end(group: string): Promise<void> {
    if (!this.#known.has(group)) return
    await this.#change(entries => {
      const known = entries.get(group)
      if (known !== undefined) entries.set(group, { ...known, isEnded: true })
    })
    this.#nextTry = 0
  }

  /** Called regularly. Purges the groups that ended, and once after each start the leftovers of a killed process. */
  finishSoon(): void {
    if (performance.now() < this.#nextTry || this.#options.store() === undefined) return
    // Nothing to sweep: the file was read and no group ended since.
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

  /** Takes the group out of the broker's record. From then on none of its claims counts. */
  async #takeOut(group: string): Promise<void> {
    const known = this.#known.get(group)
    await this.#remove(group, ({ id, open }) => id === known?.list && open.get(group) === known.number)
    this.#unswept?.add(group)
    await this.#change(entries => entries.delete(group))
  }

  /**
   * Settles groups that are in the broker's record and not in the file: either a killed process opened one without
   * noting it, and it has no claims, or this hub lost its file. Claims that are done count too, because their results
   * may not be in the files of the loop yet.
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

  /** The numbers of the given groups that have claims of this hub. */
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
      if (isClosedIn(stored, of)) await store.purge('claims', subject, seq)
    })
  }

  /** Calls `work` with the last claim of each subject of this hub, limited to the given groups if any. */
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

  /**
   * Writes the disk first: with a full disk, the broker would otherwise hold groups that the next process does not
   * know.
   */
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

  /** Reports each reason once. A missing broker is reported elsewhere. */
  #say(error: unknown): void {
    if (!isCodedError(error) || error.code === 'machine-away' || error.message === this.#problem) return
    this.#problem = error.message
    this.#options.onFault?.(error)
  }
}

/** A damaged file counts as empty: groups with claims are restored from the broker, the others are opened anew. */
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
    `${group} is over in the fleet and open on this hub: the hub's files are of an earlier time, perhaps from a backup. None of its tasks is given to a machine again. Start a new loop for the remaining tasks.`,
  )
}

const AGAIN_MS = 30_000
const WINDOW = 8
