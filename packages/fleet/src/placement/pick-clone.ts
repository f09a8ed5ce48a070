/** A clone of a session's repository on the machine that gets the session. */
export interface CloneFacts {
  project: string
  /** The session was in it before it went away. */
  wasHere: boolean
  /** It has the path that the project has on the other machine. */
  isSamePath: boolean
  /** Nothing in it is uncommitted. */
  isClean: boolean
  /** An agent is at work in it. */
  isBusy: boolean
}

/**
 * Which of several clones a session goes into, and why: the first rule by which they differ decides. Clones that are
 * alike are taken in the order in which the machine's projects are named.
 */
export function pickClone<T extends CloneFacts>(clones: readonly T[]): { clone: T; why: string } | undefined {
  let left = clones
  /** What all that are left have in common, and the others do not. */
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
