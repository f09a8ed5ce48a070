import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { useProject } from '../../../test/support/project.ts'
import {
  areInstructionsTold,
  asCodexInstructions,
  withInstructions,
  withoutInstructions,
} from './instructions.ts'

const project = useProject()
const PARENT = '01a1e299-f6ed-7c52-bac1-135cf1f26a6e'
const FORK = '01a1e299-f6ed-7c52-bac1-135cf1f26a6f'

const message = (role: string, ...texts: string[]) => ({
  type: 'message',
  role,
  content: texts.map(text => ({ type: 'input_text', text })),
})
const said = (role: string, ...texts: string[]) => ({
  type: 'response_item',
  payload: message(role, ...texts),
})
const compacted = (...kept: unknown[]) => ({ type: 'compacted', payload: { replacement_history: kept } })
const began = said('developer', '<permissions instructions>', 'A')
const injected = (text: string) => said('developer', asCodexInstructions(text))
const prompted = (text: string) => said('user', withInstructions(text, 'Go on'))

function write(threadId: string, lines: object[]): void {
  const folder = path.join(project.root, 'sessions', '2026', '01', '31')
  mkdirSync(folder, { recursive: true })
  const text = lines.map((line, ordinal) => `${JSON.stringify({ ordinal, ...line })}\n`).join('')
  writeFileSync(path.join(folder, `rollout-2026-01-31T10-00-00-${threadId}.jsonl`), text)
}

const isTold = (text: string, threadId = PARENT) =>
  areInstructionsTold(text, { threadId, environment: { CODEX_HOME: project.root } })

test.each<[string, object[], string, boolean]>([
  ['the thread began with them', [began], 'A', true],
  ['it began with others', [began], 'B', false],
  ['they were put into it', [began, injected('B')], 'B', true],
  ['they came with a message', [began, prompted('B')], 'B', true],
  ['others came after them', [began, injected('B')], 'A', false],
  ['they came back', [began, injected('B'), injected('A')], 'A', true],
  ['other messages came after them', [began, said('user', 'A'), said('developer', '<mode>')], 'A', true],
  ['a user said the same', [said('user', 'A')], 'A', false],
  ['a summary has them no more', [injected('A'), compacted(message('user', 'Go'))], 'A', false],
  [
    'a summary has them',
    [injected('A'), compacted(message('developer', asCodexInstructions('A')))],
    'A',
    true,
  ],
  ['they came after a summary', [compacted(), injected('A')], 'A', true],
  ['nothing was said', [], 'A', false],
])('%s', async (_name, lines, text, expected) => {
  write(PARENT, lines)
  expect(await isTold(text)).toBe(expected)
})

test('a fork has those of its parent, up to where it begins', async () => {
  const base = (end_ordinal_exclusive: number) => ({
    type: 'session_meta',
    payload: { history_base: { thread_id: PARENT, end_ordinal_exclusive } },
  })
  write(PARENT, [began, injected('B')])
  write(FORK, [base(2)])
  expect([await isTold('A', FORK), await isTold('B', FORK)]).toEqual([false, true])
  write(FORK, [base(1)])
  expect([await isTold('A', FORK), await isTold('B', FORK)]).toEqual([true, false])
})

test('a thread whose file is nowhere was told nothing', async () => {
  expect(await isTold('A')).toBe(false)
})

test.each(['Go on', 'Several\n\nlines', '<system-instructions>\nnever closed'])(
  'what was typed is found: %s',
  typed => {
    expect(withoutInstructions(withInstructions('Be calm.\n\nReally.', typed))).toBe(typed)
    expect(withoutInstructions(typed)).toBe(typed)
  },
)
