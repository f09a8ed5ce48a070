import { z } from 'zod'
import { isMachineName, subjects } from '../subjects.ts'

/** Reads from the leader of the brokers, implemented by `Link`. */
export interface ClaimReader {
  last(kind: 'claims', subject: string): Promise<{ seq: number; body: Uint8Array } | undefined>
}

/** The group that a claim belongs to. */
export const groupRef = z.object({
  hub: z.string().refine(isMachineName),
  /** Id of the hub's list. The brokers assign another one after they lost theirs. */
  list: z.string().min(1).max(100),
  group: z.string().min(1).max(200),
  /** Assigned once: a group that is opened again gets another number. */
  number: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
})
export type GroupRef = z.infer<typeof groupRef>

/** The open groups of one hub, as the broker has them. */
export interface OpenGroups {
  id: string
  /** The highest number assigned so far. */
  last: number
  open: ReadonlyMap<string, number>
}

const stored = z.object({
  id: groupRef.shape.list,
  last: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  open: z.array(z.tuple([groupRef.shape.group, groupRef.shape.number])),
})

/** An unreadable list counts as missing, but keeps its sequence number so that it can be replaced. */
export async function readOpenGroups(
  store: ClaimReader,
  hub: string,
): Promise<{ seq?: number; list?: OpenGroups }> {
  const last = await store.last('claims', subjects.openGroups(hub))
  if (last === undefined) return {}
  const { seq } = last
  try {
    const { id, last: number, open } = stored.parse(JSON.parse(Buffer.from(last.body).toString()))
    return { seq, list: { id, last: number, open: new Map(open) } }
  } catch {
    return { seq }
  }
}

/** False for a group of another list: the brokers lost their disks since and know nothing of it. */
export function isClosedIn({ id, last, open }: OpenGroups, { list, group, number }: GroupRef): boolean {
  return id === list && last >= number && open.get(group) !== number
}

/**
 * True if the group is over; a machine that still works for it gives up. False after the brokers lost their disks,
 * because they know nothing then.
 */
export async function isGroupOver(store: ClaimReader, of: GroupRef): Promise<boolean> {
  const { list } = await readOpenGroups(store, of.hub)
  return list !== undefined && isClosedIn(list, of)
}
