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
