/** A clone of a session's repository on the target machine. */
export interface CloneFacts {
  project: string
  /** The session was in this clone before it went away. */
  wasHere: boolean
  /** Its path equals the project's path on the source machine. */
  isSamePath: boolean
  /** It has no uncommitted changes. */
  isClean: boolean
  /** An agent works in it. */
  isBusy: boolean
}

/**
 * Picks the clone for a session: the first rule by which they differ decides. Equal clones are taken in the order of
 * the machine's projects.
 */
export function pickClone<T extends CloneFacts>(clones: readonly T[]): { clone: T; why: string } | undefined {
  let left = clones
  /** Properties that all remaining clones share and the others lack. */
  const alike: string[] = []
  for (const { fits, why, those } of RULES) {
    const next = left.filter(fits)
    const [clone] = next
    if (clone !== undefined && next.length < left.length) {
      if (next.length === 1)
        return { clone, why: `${why}, of ${left.length} clones${alike.map(one => ` ${one}`).join('')}` }
      left = next
      alike.push(those)
    }
  }
  const [clone] = left
  if (clone === undefined) return undefined
  return {
    clone,
    why: clones.length === 1 ? 'the only clone' : `the first of ${left.length} clones that fit alike`,
  }
}

const RULES: readonly { fits: (clone: CloneFacts) => boolean; why: string; those: string }[] = [
  { fits: ({ wasHere }) => wasHere, why: 'the one that it was in before', those: 'that it was in before' },
  {
    fits: ({ isSamePath }) => isSamePath,
    why: 'the one with the path of the other machine',
    those: 'with the path of the other machine',
  },
  {
    fits: ({ isClean }) => isClean,
    why: 'the only one without uncommitted changes',
    those: 'without uncommitted changes',
  },
  {
    fits: ({ isBusy }) => !isBusy,
    why: 'the only one in which no agent is at work',
    those: 'in which no agent is at work',
  },
]
