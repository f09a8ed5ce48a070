import { NO_COST } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { createRedactor } from '../../src/harness-log/redact.ts'
import { type ExportOptions, exportSession } from '../../src/history/export/export-session.ts'
import type { StoredSession } from '../../src/store/stored-session.ts'
import { useProject } from '../support/project.ts'
import { type LooseEvent, sessionWith } from '../support/sessions.ts'
import { useStore } from '../support/store.ts'

const project = useProject()
const stores = useStore()
const usage = { input_tokens: 1, output_tokens: 2 }

function session(events: LooseEvent[], title?: string): Promise<StoredSession> {
  return sessionWith(events, { store: stores.open(), projectRoot: project.root, ...(title && { title }) })
}

async function exported({ id }: StoredSession, options: ExportOptions): Promise<string> {
  let text = ''
  for await (const part of exportSession(project.root, id, { home: stores.home, ...options })) text += part
  return text
}

const TURN: LooseEvent[] = [
  { type: 'turn:start', message: 'Fix it\nplease' },
  { type: 'chat:thinking', messageId: 'th', text: 'Where?', final: true },
  { type: 'tool:start', toolUseId: 'a', name: 'Bash', input: { command: 'npm test' } },
  { type: 'tool:result', toolUseId: 'a', content: '```\nfailed', isError: true },
  {
    type: 'tool:start',
    toolUseId: 'b',
    name: 'Edit',
    input: { file_path: 'a.ts', old_string: 'one', new_string: 'two' },
  },
  { type: 'tool:result', toolUseId: 'b', content: 'ok', isError: false },
  { type: 'chat:message', messageId: 'm', text: 'Done. `<b>` and <b>bold</b>\n```js\nopen' },
  { type: 'session:complete', costUsd: 0.25, usage },
  { type: 'turn:end', reason: 'completed' },
]

describe('JSON', () => {
  test('is the session and every envelope', async () => {
    const made = await session(TURN)
    const { session: shown, envelopes } = JSON.parse(await exported(made, { format: 'json' }))
    expect(shown).toMatchObject({ id: made.id, projectRoot: project.root })
    expect(envelopes).toHaveLength(TURN.length)
    expect(envelopes[0]).toMatchObject({ seq: 1, turnId: 't1', event: { message: 'Fix it\nplease' } })
  })

  test('of a session without a log has none', async () => {
    const made = await stores.open().create(project.root, null, 'direct')
    expect(JSON.parse(await exported(made, { format: 'json' }))).toMatchObject({ envelopes: [] })
  })

  test('an export of several batches is complete', async () => {
    const events = Array.from(
      { length: 2500 },
      (_, n): LooseEvent => ({
        type: 'chat:message',
        messageId: `m${n}`,
        text: `${n}`,
      }),
    )
    const { envelopes } = JSON.parse(await exported(await session(events), { format: 'json' }))
    expect(envelopes.map(({ seq }: { seq: number }) => seq)).toEqual(events.map((_, n) => n + 1))
  })

  test('there is no session of that id', async () => {
    const missing = { id: 'nobody' } as StoredSession
    await expect(exported(missing, { format: 'json' })).rejects.toThrow('There is no session nobody in')
  })
})

describe('secrets', () => {
  const SECRET = 'correct-horse-battery'
  const KEY = 'sk-ant-REDACT0123456789abcdef'
  const events: LooseEvent[] = [
    { type: 'turn:start', message: `Use ${SECRET} or ${Buffer.from(SECRET).toString('base64')}` },
    ...[...KEY].map((text): LooseEvent => ({ type: 'chat:delta', messageId: 'm', text })),
    { type: 'chat:message', messageId: 'm', text: KEY },
    { type: 'chat:thinking', messageId: 'th', text: 'it is correct-horse' },
    { type: 'chat:thinking', messageId: 'th', text: '-battery, I think' },
    { type: 'tool:start', toolUseId: 'u', name: 'Login', input: {} },
    { type: 'tool:input', toolUseId: 'u', delta: '{"user":"me","password":"tell-no' },
    { type: 'tool:input', toolUseId: 'u', delta: 'body-123"}' },
    {
      type: 'tool:input',
      toolUseId: 'u',
      input: { user: 'me', password: 'tell-nobody-123', deep: [{ SECRET }] },
    },
    { type: 'tool:result', toolUseId: 'u', content: `AWS AKIAIOSFODNN7EXAMPLE`, isError: false },
    {
      type: 'native:unknown',
      harness: 'x',
      nativeType: 'y',
      raw: { [SECRET]: { authorization: 'Digest abc' } },
    },
    { type: 'turn:end', reason: 'completed' },
  ]

  test.each(['json', 'html', 'markdown'] as const)('do not occur in the %s export', async format => {
    const made = await session(events, `About ${SECRET}`)
    const text = await exported(made, { format, redactor: createRedactor([SECRET]) })
    for (const secret of [SECRET, KEY, 'tell-nobody', 'AKIAIOSFODNN7EXAMPLE', 'Digest abc'])
      expect(text).not.toContain(secret)
    expect(text).not.toContain(Buffer.from(SECRET).toString('base64'))
    if (format === 'markdown') return
    // Nor can it be put together from pieces.
    const { envelopes } = JSON.parse(
      await exported(made, { format: 'json', redactor: createRedactor([SECRET]) }),
    )
    const pieces = envelopes.map(
      ({ event }: { event: Record<string, string> }) => event.text ?? event.delta ?? '',
    )
    expect(pieces.join('')).not.toMatch(/sk-ant|horse-battery|tell-nobody/)
    expect(pieces.join('')).toContain('it is [redacted], I think')
  })
})

describe('what really ran', () => {
  const events: LooseEvent[] = [
    { type: 'turn:start', message: 'Clean up' },
    { type: 'tool:start', toolUseId: 'u', name: 'Bash', input: { command: 'rm -rf dist' } },
    {
      type: 'permission:request',
      requestId: 'r',
      kind: 'tool',
      toolName: 'Bash',
      toolUseId: 'u',
      input: { command: 'rm -rf dist' },
      raw: null,
    },
    {
      type: 'permission:resolved',
      requestId: 'r',
      outcome: 'allowed',
      by: 'person',
      toolUseId: 'u',
      updatedInput: { command: 'ls -la', password: 'tell-nobody-123' },
      facts: { kind: 'execute', label: 'Bash', object: 'ls -la', command: 'ls -la' },
    },
    { type: 'tool:result', toolUseId: 'u', content: 'total 0', isError: false },
    { type: 'tool:start', toolUseId: 'v', name: 'Write', input: { file_path: 'a.ts', content: 'x' } },
    { type: 'tool:result', toolUseId: 'v', content: 'EACCES', isError: true },
    { type: 'turn:end', reason: 'completed' },
  ]

  test('an edited command is the one that ran, and an edit that failed is not drawn as made', async () => {
    const made = await session(events)
    const text = await exported(made, { format: 'markdown' })
    expect(text).toContain('**Ran** `ls -la` · 1.0 s · edited by you · asked for rm -rf dist')
    expect(text).toContain('**Did not write** `a.ts` · 1.0 s · EACCES')
    expect(text).toContain('*Asked for, did not happen:*\n\n```\n+x\n```')
    expect(text).not.toContain('```diff')
    const { envelopes } = JSON.parse(await exported(made, { format: 'json' }))
    expect(envelopes[3].event.updatedInput.command).toBe('ls -la')
  })

  test.each(['json', 'html', 'markdown'] as const)('secrets of the edit are not in the %s', async format =>
    expect(await exported(await session(events), { format, redactor: createRedactor([]) })).not.toContain(
      'tell-nobody',
    ),
  )
})

describe('Markdown', () => {
  test('reads as a transcript', async () => {
    const made = await session(TURN, 'Fix *the* <thing>')
    await stores.open().update(made.id, {
      costUsd: 0.25,
      ledger: { ...NO_COST, statedUsd: 0.25, highUsd: 0.25 },
      turnCount: 1,
      updatedAt: '2026-02-07T11:00:00.000Z',
    })
    expect(await exported(made, { format: 'markdown' })).toBe(`# Fix \\*the\\* \\<thing\\>

- Session \`${made.id}\`
- 2026-02-07 10:00:01 UTC to 2026-02-07 11:00:00 UTC
- 1 turn · $0.2500

## Turn 1 · 2026-01-01 00:00:01 UTC

> Fix it
> please

*Thinking*

> Where?

**Ran** \`npm test\` · 1.0 s · failed

\`\`\`\`
\`\`\`
failed
\`\`\`\`

**Edited** \`a.ts\` · 1.0 s

\`\`\`diff
-one
+two
\`\`\`

\`\`\`
ok
\`\`\`

Done. \`<b>\` and &lt;b>bold&lt;/b>
\`\`\`js
open
\`\`\`

*completed · 8.0 s · $0.2500*
`)
  })
})
