import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { UIEvent } from '@chirality/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { TurnNotes } from './adoption-record.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'chirality-notes-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const notes = (turnId: string) => new TurnNotes({ spoolPath: path.join(folder, 'spool.ndjson'), turnId })
const event = (message: string): UIEvent => ({
  type: 'status',
  sessionId: 's',
  status: 'stalled',
  level: 'warn',
  message,
})

test('another process reads the notes in order, and only those of its own turn', async () => {
  const [mine, other] = [notes('one'), notes('two')]
  mine.facts({ model: 'm' })
  other.facts({ model: 'another' })
  mine.add({ after: -1, event: event('first') })
  mine.add({ after: 7, event: event('second') })
  expect(await notes('one').read()).toEqual({
    facts: { model: 'm' },
    notes: [
      { after: -1, event: event('first') },
      { after: 7, event: event('second') },
    ],
  })
  await mine.remove()
  await mine.remove()
  expect(await notes('one').read()).toEqual({ facts: {}, notes: [] })
  expect((await other.read()).facts).toEqual({ model: 'another' })
})

test('other users cannot read the notes', () => {
  notes('../../etc/one').facts({})
  const [name = ''] = readdirSync(folder)
  expect(statSync(path.join(folder, name)).mode & 0o777).toBe(0o600)
})

test('a line that was cut or makes no sense costs no other', async () => {
  const mine = notes('one')
  mine.add({ after: 1, event: event('good') })
  const file = path.join(folder, readdirSync(folder)[0] ?? '')
  appendFileSync(
    file,
    'null\n[]\n{"after":"x","event":{}}\n{"after":2,"event":"odd"}\n{"facts":3}\n{"after":2,"ev',
  )
  expect(await mine.read()).toEqual({ facts: {}, notes: [{ after: 1, event: event('good') }] })
})

test('a link in their place is neither followed nor written through', async () => {
  const target = path.join(folder, 'target')
  writeFileSync(target, '{"facts":{"model":"planted"}}\n')
  const mine = notes('one')
  mine.facts({})
  const file = path.join(folder, readdirSync(folder).find(name => name.endsWith('.notes')) ?? '')
  rmSync(file)
  symlinkSync(target, file)
  expect(await mine.read()).toEqual({ facts: {}, notes: [] })
  expect(() => mine.add({ after: 0, event: event('x') })).toThrow('ELOOP')
})
