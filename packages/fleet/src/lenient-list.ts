import { z } from 'zod'

/** A list that another machine says: an entry that is not valid is left out, and costs the others nothing. */
export function lenientList<T extends z.ZodType>(entry: T, most: number) {
  return z.array(z.unknown()).transform(list =>
    list.slice(0, most).flatMap((one): z.output<T>[] => {
      const parsed = entry.safeParse(one)
      return parsed.success ? [parsed.data] : []
    }),
  )
}
