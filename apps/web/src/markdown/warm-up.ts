import { parseBlocks } from './blocks.logic.ts'

/**
 * The lexer's expressions are compiled at their first use, and once more when they are used again: half of what the first
 * screen of a session costs. To be called while nobody waits.
 */
export function warmUpMarkdown(): void {
  for (let i = 0; i < ROUNDS; i++) parseBlocks(SAMPLE)
}

const ROUNDS = 3

const SAMPLE = `# Heading

Text with **bold**, *italic*, ~~struck~~, \`code\`, a [link](https://example.org), an ![image](a.png) and <b>HTML</b>.
A second line, with an address: https://example.org and an escape \\*.

Heading
---

- one
- [ ] two

  with more

1. first
2. second

> said

| a | b |
|---|---|
| 1 | 2 |

\`\`\`ts
const a = 1
\`\`\`

    indented

<div>block</div>

[ref]: https://example.org

***
`
