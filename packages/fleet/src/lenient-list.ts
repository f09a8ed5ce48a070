import { z } from 'zod'

/** Parses a list from another machine: an invalid entry is dropped and does not cost the others. */
export function lenientList<T extends z.ZodType>(entry: T, most: number) {
  return z.array(z.unknown()).transform(list =>
    list.slice(0, most).flatMap((one): z.output<T>[] => {
      const parsed = entry.safeParse(one)
      return parsed.success ? [parsed.data] : []
    }),
  )
}
