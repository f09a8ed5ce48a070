/**
 * Runs `work` for each item, `size` at a time. After a failure it starts no further item, waits for the running ones,
 * then throws the first failure.
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
