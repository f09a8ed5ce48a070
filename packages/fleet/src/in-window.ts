/**
 * Does the work for each item, so many at once. After a failure no further one is begun; what runs is waited for, then the
 * first failure is thrown.
 */
export async function inWindow<T>(
  items: Iterable<T>,
  size: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]()
  let failure: { error: unknown } | undefined
  const take = async () => {
    for (let next = queue.next(); !next.done && failure === undefined; next = queue.next()) {
      try {
        await work(next.value)
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: size }, take))
  if (failure !== undefined) throw failure.error
}
