/** Waits for all of them, also when one fails, and then rejects with the first failure. */
export async function allDone(steps: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(steps)
  await Promise.all(steps)
}
