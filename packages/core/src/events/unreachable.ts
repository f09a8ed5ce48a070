/**
 * For the default branch of a switch over a union: a new variant is a compile error here, while data from a newer
 * version, which the types cannot see, passes without harm.
 */
export function unreachable(value: never): never {
  return value
}
