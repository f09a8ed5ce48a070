import { expect, test } from 'vitest'
import { safeLink } from './safe-link.ts'

test.each([
  ['https://example.org/a?b#c', 'https://example.org/a?b#c'],
  ['mailto:a@example.org', 'mailto:a@example.org'],
  ['HTTP://EXAMPLE.ORG', 'http://example.org/'],
])('%s is a link', (href, expected) => expect(safeLink(href)).toBe(expected))

test.each([
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'java\tscript:alert(1)',
  '\u0001javascript:alert(1)',
  ' javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:msgbox(1)',
  'file:///etc/passwd',
  'blob:https://example.org/x',
  '//example.org',
  'src/main.ts',
  '#top',
  '',
])('%j is text', href => expect(safeLink(href)).toBeUndefined())
