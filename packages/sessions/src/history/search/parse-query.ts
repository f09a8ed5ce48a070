import { SearchError } from './search-error.ts'

/**
 * The words of a query, all of which an event has to hold. What stands in quotes is one of them, spaces included. Nothing
 * else means anything: a dot is a dot.
 */
export function parseQuery(query: string): string[] {
  if (query.length > MAX_QUERY_CHARS) {
    throw new SearchError(
      'too-long',
      `The query is longer than ${MAX_QUERY_CHARS} characters. Search for less of it.`,
    )
  }
  const terms = new Set<string>()
  // A quote that is not closed reaches to the end: the query is still being typed.
  for (const [, phrase, word] of query.matchAll(/"([^"]*)(?:"|$)|([^\s"]+)/g)) {
    const term = (phrase ?? word ?? '').trim()
    if (term !== '') terms.add(term)
  }
  if (terms.size === 0)
    throw new SearchError('empty', 'The query is empty. Give a word, or a phrase in quotes.')
  return [...terms]
}

/** More than anybody remembers of what was said, and less than a regular expression can bear. */
const MAX_QUERY_CHARS = 1000
