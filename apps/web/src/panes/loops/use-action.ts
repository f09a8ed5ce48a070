import { useState } from 'react'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'

/** One call at a time; what fails is told, what succeeds only if there are words for it. */
export function useAction<T, A extends unknown[] = []>(
  call: (...args: A) => Promise<T>,
  words?: (result: T) => string,
): { isBusy: boolean; run(...args: A): void } {
  const [isBusy, setBusy] = useState(false)
  const run = (...args: A) => {
    setBusy(true)
    call(...args)
      .then(result => {
        if (words !== undefined) toasts.info(words(result))
      })
      .catch((error: unknown) => toasts.error(messageOf(error)))
      .finally(() => setBusy(false))
  }
  return { isBusy, run }
}
