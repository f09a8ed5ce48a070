import { z } from 'zod'
import { isMachineName, subjects } from '../subjects.ts'

/** Reads from the leader: `Link` does. */
export interface ClaimReader {
  last(kind: 'claims', subject: string): Promise<{ seq: number; body: Uint8Array } | undefined>
}

/** The group that a claim belongs to. */
export const groupRef = z.object({
  hub: z.string().refine(isMachineName),
  /** The hub's list, which gets another id when the brokers lost the one before. */
  list: z.string().min(1).max(100),
  group: z.string().min(1).max(200),
  /** Given once: a group that is opened again has another. */
  number: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
})
export type GroupRef = z.infer<typeof groupRef>

/** The groups of one hub that are open, as the broker has them. */
export interface OpenGroups {
  id: string
  /** The highest number that was given. */
  last: number
  open: ReadonlyMap<string, number>
}

const stored = z.object({
  ...{ id: groupRef.shape.list, last: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER) },
  open: z.array(z.tuple([groupRef.shape.group, groupRef.shape.number])),
})

/** A list that cannot be read is as none, but for its number, so that it can be replaced. */
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

/** A group of another list is not known: the brokers lost their disks since. */
export function isOver({ id, last, open }: OpenGroups, { list, group, number }: GroupRef): boolean {
  return id === list && last >= number && open.get(group) !== number
}

/**
 * Whether a group is over: work of it that a machine still has is given up. Brokers that lost their disks know nothing of
 * it, and that ends nothing.
 */
export async function isGroupOver(store: ClaimReader, of: GroupRef): Promise<boolean> {
  const { list } = await readOpenGroups(store, of.hub)
  return list !== undefined && isOver(list, of)
}
