import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { PromptPart } from '@chirality/core'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CLAUDE_CODE } from '../config.ts'
import { encodePrompt as encode } from './prompt.ts'

const encodePrompt = (prompt: Parameters<typeof encode>[0]) => encode(prompt, CLAUDE_CODE)

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'chirality-prompt-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const picture = (data: string): PromptPart => ({
  type: 'image',
  source: { kind: 'base64', mediaType: 'image/png', data },
})

test('a text prompt is written to stdin unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ minLength: 1 }), async text => {
      fc.pre(text.trim() !== '')
      expect(await encodePrompt(text)).toEqual({ inputFormat: 'text', stdin: text, text, attachments: 0 })
    }),
  )
})

test('text parts are lines of one text', async () => {
  const parts: PromptPart[] = [
    { type: 'text', text: 'one' },
    { type: 'text', text: 'two' },
  ]
  expect(await encodePrompt(parts)).toMatchObject({ inputFormat: 'text', stdin: 'one\ntwo' })
})

test('with an image the message is one line of JSON with the parts in order, blank texts left out', async () => {
  const file = path.join(folder, 'image.webp')
  writeFileSync(file, 'bytes')
  const encoded = await encodePrompt([
    { type: 'text', text: 'before\nthe image' },
    picture('AAAA'),
    { type: 'text', text: ' ' },
    { type: 'image', source: { kind: 'path', mediaType: 'image/webp', path: file } },
    { type: 'text', text: 'after' },
  ])
  expect(encoded).toMatchObject({
    inputFormat: 'stream-json',
    attachments: 2,
    text: 'before\nthe image\n \nafter',
  })
  expect(encoded.stdin.match(/\n/g)).toHaveLength(1)
  expect(encoded.stdin.endsWith('\n')).toBe(true)
  const image = (media_type: string, data: string) => ({
    type: 'image',
    source: { type: 'base64', media_type, data },
  })
  expect(JSON.parse(encoded.stdin)).toEqual({
    type: 'user',
    message: {
      role: 'user',
      content: [
        { type: 'text', text: 'before\nthe image' },
        image('image/png', 'AAAA'),
        image('image/webp', Buffer.from('bytes').toString('base64')),
        { type: 'text', text: 'after' },
      ],
    },
  })
})

test('an image without text is a valid prompt', async () => {
  expect(await encodePrompt([picture('AAAA')])).toMatchObject({ attachments: 1, text: '' })
})

test.each(['', '  ', '\n\t\r\n', '\u00a0'])('a blank prompt is refused: %j', async prompt => {
  await expect(encodePrompt(prompt)).rejects.toMatchObject({ code: 'invalid_query' })
})

test('a file that is no image file is refused', async () => {
  const image = (file: string): PromptPart => ({
    type: 'image',
    source: { kind: 'path', mediaType: 'image/png', path: file },
  })
  const huge = path.join(folder, 'huge.png')
  writeFileSync(huge, '')
  truncateSync(huge, 20 * 1024 * 1024 + 1)
  await expect(encodePrompt([image(folder)])).rejects.toThrow('is not a file')
  await expect(encodePrompt([image(path.join(folder, 'none'))])).rejects.toThrow('cannot be read')
  await expect(encodePrompt([image(huge)])).rejects.toThrow('is over')
})
