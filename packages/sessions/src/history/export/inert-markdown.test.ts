import { expect, test } from 'vitest'
import { fenced, inertMarkdown, inlineCode } from './inert-markdown.ts'

test.each([
  ['<script>x</script>', '&lt;script>x&lt;/script>'],
  ['a < b, a<1', 'a < b, a<1'],
  ['`Map<string>` <i>', '`Map<string>` &lt;i>'],
  ['``a ` <b>``', '``a ` <b>``'],
  // None of these is code to a Markdown parser.
  ['`<b>``', '`&lt;b>``'],
  ['\\`<b>`', '\\`&lt;b>`'],
  ['`\nx` <b> `y', '`\nx` &lt;b> `y'],
  ['`a\n- <b>`', '`a\n- &lt;b>`'],
  ['open `\n\n`<b>`', 'open `\n\n`<b>`'],
  ['```\n<b>\n```\n<b>', '```\n<b>\n```\n&lt;b>'],
  ['~~~\n```\n<b>', '~~~\n```\n<b>\n~~~'],
  ['````\n```\n<b>\n````\n<b>', '````\n```\n<b>\n````\n&lt;b>'],
  ['<!-- x', '&lt;!-- x'],
])('%j', (text, inert) => {
  expect(inertMarkdown(text)).toBe(inert)
})

test.each([
  ['[a](https://example.org/x) [b](./b.md) [c](b.ts#L1) [d](#e) [f](mailto:a@b)', null],
  ['[a](javascript:alert(1))', '[a]&#40;javascript:alert(1))'],
  ['[a]( JavaScript:x)', '[a]&#40; JavaScript:x)'],
  ['[a](&#106;avascript:x)', '[a]&#40;&#106;avascript:x)'],
  ['[a](java\\script:x)', '[a]&#40;java\\script:x)'],
  ['[a](<javascript:x>)', '[a]&#40;&lt;javascript:x>)'],
  ['[a](< javascript:x>)', '[a]&#40;< javascript:x>)'],
  ['[a](\njavascript:x)', '[a](\njavascript:x)'.replace('](', ']&#40;')],
  ['[a](vbscript:x) [b](data:text/html,x)', '[a]&#40;vbscript:x) [b]&#40;data:text/html,x)'],
  ['[a][b]\n\n[b]: javascript:x', '[a][b]\n\n[b]&#58; javascript:x'],
  ['[b]:\njavascript:x', '[b]&#58;\njavascript:x'],
  ['[b]: https://example.org', null],
  ['![a](https://example.org/pixel.png)', '&#33;[a](https://example.org/pixel.png)'],
  ['\\\\![a](https://example.org/p)', '\\\\&#33;[a](https://example.org/p)'],
  ['![a][b]', '&#33;[a][b]'],
  ['open `\n\\![a](x.png)', 'open `\n\\&#33;[a](x.png)'],
  ['`![a](javascript:x)`', null],
  ['```\n![a](javascript:x)\n```', null],
  ['[INFO]: done [x] y', null],
])('links and images of %j', (text, inert) => {
  expect(inertMarkdown(text)).toBe(inert ?? text)
})

test.each(['', 'x', '```', '`````\n```', 'a\n'])('the fence around %j is longer than any in it', text => {
  const block = fenced(text)
  const fence = /^`+/.exec(block)?.[0] ?? ''
  expect(text).not.toContain(fence)
  expect(block.endsWith(`\n${fence}\n`)).toBe(true)
})

test.each([
  ['ls', '`ls`'],
  ['a ` b', '``a ` b``'],
  ['`x`', '`` `x` ``'],
  ['two\nlines', '`two lines`'],
  ['', ''],
])('inline %j', (text, code) => {
  expect(inlineCode(text)).toBe(code)
})
