import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { useProject } from '../../../test/support/project.ts'
import { readThreadFacts } from './thread-facts.ts'

const project = useProject()
const ID = '01a1e299-f6ed-7c52-bac1-135cf1f26a6e'

function writeRollout(lines: unknown[], tail = ''): void {
  const folder = path.join(project.root, 'sessions', '2026', '01', '31')
  mkdirSync(folder, { recursive: true })
  const text = lines.map(line => `${JSON.stringify(line)}\n`).join('')
  writeFileSync(path.join(folder, `rollout-2026-01-31T10-00-00-${ID}.jsonl`), text + tail)
}

const context = (model: string) => ({ type: 'turn_context', payload: { model } })
const count = (input_tokens: number) => ({
  type: 'event_msg',
  payload: {
    type: 'token_count',
    info: { total_token_usage: { input_tokens, cached_input_tokens: 10, output_tokens: 5 } },
  },
})
const read = () => readThreadFacts(ID, { CODEX_HOME: project.root })

describe('what is known of a thread', () => {
  test('is the last that its file says; a line half written does not count', async () => {
    writeRollout([context('old'), count(100), context('new'), count(200)], '{"type":"turn_context","payl')
    expect(await read()).toEqual({
      model: 'new',
      usage: {
        input_tokens: 190,
        output_tokens: 5,
        cache_read_input_tokens: 10,
        cache_creation_input_tokens: 0,
      },
    })
  })

  test('a count without numbers is none', async () => {
    writeRollout([count(100), { type: 'event_msg', payload: { type: 'token_count', info: null } }])
    expect((await read()).usage?.input_tokens).toBe(90)
  })

  test('words about counts in a conversation are no counts', async () => {
    writeRollout([{ type: 'response_item', payload: { text: '"token_count" "turn_context"', model: 'x' } }])
    expect(await read()).toEqual({})
  })

  test.each([
    { what: 'no file', env: () => ({ CODEX_HOME: project.root }) },
    { what: 'no home', env: () => ({}) },
    { what: 'a home that does not exist', env: () => ({ HOME: path.join(project.root, 'nowhere') }) },
  ])('$what: nothing', async ({ env }) => {
    expect(await readThreadFacts(ID, env() as Record<string, string>)).toEqual({})
    expect(await readThreadFacts(undefined, env() as Record<string, string>)).toEqual({})
  })
})
