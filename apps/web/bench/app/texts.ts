const SECTION = `## A section with a heading

A paragraph of prose with **bold**, *italic* and \`inline code\`, long enough to wrap over more than one line of the page, as
answers of agents do. See [the page](https://example.org/a) for the rest of it.

- one thing that was done
- another one, with \`code\` in it
- and a third

\`\`\`ts
export function add(a: number, b: number): number {
  return a + b
}
\`\`\`

| name | value |
|---|---|
| first | 1 |
| second | 2 |

1. read the file
2. change it

`

/** Markdown of about so many characters, of the kind that agents write. */
export function markdownOf(chars: number): string {
  return SECTION.repeat(Math.ceil(chars / SECTION.length)).slice(0, chars)
}

/** Events that become so many rows: questions, answers and tools of different heights. */
export function manyTurns(rows: number): object[] {
  const events: object[] = []
  for (let i = 0; i < rows; i++) {
    const kind = i % 5
    if (kind === 0) {
      const text = `Answer ${i}. ${'Some words of it. '.repeat(i % 17)}`
      events.push({ type: 'chat:delta', messageId: `m${i}`, text })
      events.push({ type: 'chat:message', messageId: `m${i}`, text })
    }
    if (kind === 1) events.push({ type: 'status', status: 'notice', level: 'info', message: `notice ${i}` })
    if (kind > 1) {
      events.push({
        type: 'tool:start',
        toolUseId: `u${i}`,
        name: 'Read',
        input: { file_path: `src/file-${i}.ts` },
      })
      events.push({ type: 'tool:result', toolUseId: `u${i}`, content: 'text', isError: false })
    }
  }
  return events
}
