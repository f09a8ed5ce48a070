import fc from 'fast-check'
import { expect, test } from 'vitest'
import { controlErrorLine, controlRequestLine, controlResponseLine, userLine } from './prompt.ts'

// A line that is not JSON, or two lines in place of one, end the agent.
test('any message becomes one line of JSON without a lone surrogate', () => {
  const anything = fc.string({ unit: fc.nat(0xffff).map(code => String.fromCharCode(code)) })
  fc.assert(
    fc.property(anything, anything, (text, other) => {
      const lines = [
        userLine(text, other),
        userLine([{ type: 'text', text }]),
        controlRequestLine(other, { subtype: text }),
        controlResponseLine(other, { [text]: text }),
        controlErrorLine(other, text),
      ]
      for (const line of lines) {
        expect(line.match(/[\n\r\u2028\u2029]/g)).toEqual(['\n'])
        expect(line.endsWith('\n')).toBe(true)
        expect(typeof JSON.parse(line).type).toBe('string')
        expect(line).toBe(Buffer.from(line, 'utf8').toString('utf8'))
      }
    }),
  )
})

test('a valid message is sent unchanged', () => {
  const text = 'a\nb\u2028c \u{1f600} "quoted" \\ \0'
  expect(JSON.parse(userLine(text, 'u'))).toEqual({
    type: 'user',
    message: { role: 'user', content: text },
    uuid: 'u',
  })
  expect(JSON.parse(userLine('half \ud800')).message.content).toBe('half \ufffd')
})
