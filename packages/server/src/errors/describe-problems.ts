import type { z } from 'zod'

/** What is wrong with an input, in one line: where, and what would be right. */
export function describeProblems({ issues }: z.ZodError): string {
  const shown = issues.slice(0, MAX_SHOWN).map(({ path, message }) => {
    const place = path.map(String).join('.')
    return place === '' ? message : `${place}: ${message}`
  })
  const more = issues.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

const MAX_SHOWN = 5
