export interface SnippetPart {
  text: string
  /** One of the words that were looked for. */
  found: boolean
}

/** A line of a conversation as a reader would read it: without the marks of Markdown, and with what was found apart. */
export function snippetParts(excerpt: string, query: string): SnippetPart[] {
  return foundParts(withoutMarks(excerpt), query)
}

/** The same for a text that is no Markdown, as it is. */
export function foundParts(text: string, query: string): SnippetPart[] {
  const words = query.match(/"[^"]+"|\S+/g)?.map(word => word.replace(/^"|"$/g, '')) ?? []
  const patterns = words.filter(word => word !== '').map(word => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
  if (patterns.length === 0) return [{ text, found: false }]
  const any = new RegExp(`(${patterns.sort((a, b) => b.length - a.length).join('|')})`, 'giu')
  return text
    .split(any)
    .map((part, index) => ({ text: part, found: index % 2 === 1 }))
    .filter(part => part.text !== '')
}

/** The lines of the text are joined by blanks in a snippet: what may be a sign of arithmetic in the middle stays. */
function withoutMarks(excerpt: string): string {
  return excerpt
    .replace(/\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?)?/g, ' ')
    .replace(/!?\[([^\]]*)\]\([^)\s]*\)/g, '$1')
    .replace(/```+\w*|`/g, '')
    .replace(/(^|\s)#{1,6}\s+/g, '$1')
    .replace(/^(…?\s*)[-*>](?=\s)/, '$1')
    .replace(/(^|\s)\|(?=\s|$)/g, '$1')
    .replace(/(\*\*|__)(?=\S)([^*_]*\S)\1/g, '$2')
    .replace(/\*\*/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}
