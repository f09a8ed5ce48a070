import type { CannedApi, LooseEvent } from './canned-api.ts'
import { aUsage } from './statuses.ts'

const USAGE = { input_tokens: 1200, output_tokens: 340, cache_read_input_tokens: 30_000 }

const PATCH = `diff --git a/src/ndjson.ts b/src/ndjson.ts
--- a/src/ndjson.ts
+++ b/src/ndjson.ts
@@ -41,4 +41,6 @@ export function* lines(chunk) {
   for (;;) {
     const end = chunk.indexOf(LF, start)
-    yield chunk.subarray(start, end)
+    const last = end > start &&
+      chunk[end - 1] === CR ? end - 1 : end
+    yield chunk.subarray(start, last)
     start = end + 1
diff --git a/src/ndjson.test.ts b/src/ndjson.test.ts
new file mode 100644
--- /dev/null
+++ b/src/ndjson.test.ts
@@ -0,0 +1,3 @@
+test('N3 cuts CRLF', () => {
+  expect(lines('a\\r\\nb')).toEqual(['a', 'b'])
+})
`

export const RUN_TESTS: LooseEvent = {
  type: 'permission:request',
  requestId: 'r1',
  kind: 'tool',
  toolName: 'Bash',
  input: { command: 'npm test -- ndjson', description: 'Run the tests of the framer' },
  toolUseId: 'u4',
  always: { rule: 'allow Bash(npm test *)', words: 'every command that fits this pattern' },
  raw: { type: 'control_request' },
}

/** A turn up to the point where the agent wants to run the tests. */
export const FIX_CRLF: readonly LooseEvent[] = [
  {
    type: 'turn:start',
    message: 'The splitter breaks on files with CRLF line ends. Find out why, fix it, and add a test.',
  },
  {
    type: 'session:init',
    claudeSessionId: 'n',
    model: 'claude-opus-5-5',
    tools: ['Read', 'Grep', 'Edit', 'Bash'],
    harness: 'claude-code',
    version: '2.1.325',
    permissionMode: 'default',
  },
  {
    type: 'chat:thinking',
    messageId: 'm#t0',
    text: 'The framer cuts at LF. Files from Windows have CR before it, and nobody removes it.',
    final: true,
  },
  {
    type: 'chat:message',
    messageId: 'm#0',
    text: "The framer cuts at `\\n` but keeps the `\\r`, so the last field of each record carries it. I'll look at the two callers first.",
  },
  {
    type: 'tool:start',
    toolUseId: 'u1',
    name: 'Read',
    input: { file_path: '/code/parser-kit/src/ndjson.ts' },
  },
  {
    type: 'tool:result',
    toolUseId: 'u1',
    content: 'export function* lines(chunk) {\n  for (;;) {',
    isError: false,
  },
  { type: 'tool:start', toolUseId: 'u2', name: 'Grep', input: { pattern: 'splitLines(' } },
  { type: 'tool:result', toolUseId: 'u2', content: 'src/read.ts:12\nsrc/tail.ts:40', isError: false },
  {
    type: 'tool:start',
    toolUseId: 'u3',
    name: 'Edit',
    input: { file_path: '/code/parser-kit/src/ndjson.ts', old_string: 'a', new_string: 'b' },
  },
  {
    type: 'tool:result',
    toolUseId: 'u3',
    content: 'The file was updated.',
    isError: false,
    detail: {
      filePath: '/code/parser-kit/src/ndjson.ts',
      structuredPatch: [
        {
          oldStart: 42,
          oldLines: 2,
          newStart: 42,
          newLines: 3,
          lines: [
            '   const end = chunk.indexOf(LF, start)',
            '-  yield chunk.subarray(start, end)',
            '+  const last = end > start && chunk[end - 1] === CR ? end - 1 : end',
            '+  yield chunk.subarray(start, last)',
          ],
        },
      ],
    },
  },
  { type: 'usage', usage: USAGE },
  { type: 'tool:start', toolUseId: 'u4', name: 'Bash', input: { command: 'npm test -- ndjson' } },
]

/** The rest of that turn, after the person allowed it. */
export const TESTS_PASS: readonly LooseEvent[] = [
  { type: 'permission:resolved', requestId: 'r1', outcome: 'allowed', by: 'person' },
  {
    type: 'tool:result',
    toolUseId: 'u4',
    content: '\u001b[32m✓\u001b[39m src/ndjson.test.ts (4)\n\u001b[1mTests  4 passed\u001b[22m',
    isError: false,
  },
  {
    type: 'chat:message',
    messageId: 'm#1',
    text: [
      'Fixed, and the test that was missing is there:',
      '',
      '- `src/ndjson.ts` drops a `\\r` before the line end',
      '- `src/ndjson.test.ts` has the case of a file from Windows',
      '',
      '```ts',
      "test('N3 cuts CRLF', () => {",
      "  expect(lines('a\\r\\nb')).toEqual(['a', 'b'])",
      '})',
      '```',
    ].join('\n'),
  },
  { type: 'chat:complete', text: 'Fixed.' },
  { type: 'session:complete', costUsd: 0.42, usage: USAGE, durationMs: 41_000 },
  { type: 'turn:end', reason: 'completed' },
  { type: 'process:exit', code: 0, signal: null, leftRunning: 0 },
]

/** The sessions of somebody who has a few agents at work. */
export function aBusyDay(api: CannedApi): void {
  const now = Date.now()
  const ago = (minutes: number) => new Date(now - minutes * 60_000).toISOString()
  const asked = { ...RUN_TESTS, sessionId: 's1' } as never
  api.patch = PATCH
  api.add({
    sessionId: 's1',
    phase: 'waiting',
    pending: [asked],
    costUsd: 0.42,
    updatedAt: ago(0),
    persona: 'DECOMP',
  })
  api.add({
    sessionId: 's2',
    title: 'Upgrade vite to 8',
    phase: 'waiting',
    costUsd: 1.1,
    updatedAt: ago(2),
    pending: [
      {
        type: 'permission:request',
        sessionId: 's2',
        requestId: 'r2',
        kind: 'plan',
        toolName: 'ExitPlanMode',
        input: {
          plan: '## Plan\n\n1. Read the migration guide\n2. Change `vite.config.ts`\n3. Run the build and compare sizes',
        },
        raw: {},
      },
    ],
  })
  api.add({
    sessionId: 's3',
    title: 'Docs for the API',
    harness: 'codex',
    phase: 'running',
    costUsd: 0.07,
    lastLine: 'editing docs/api.md',
    updatedAt: ago(1),
  })
  api.add({
    sessionId: 's4',
    title: 'Loop: backlog.md',
    phase: 'running',
    costUsd: 3.85,
    lastLine: 'task 7 of 12 · checks running',
    updatedAt: ago(3),
  })
  api.add({
    sessionId: 's5',
    title: 'Find slow tests',
    lastTurn: 'completed',
    costUsd: 0.31,
    lastLine: '3 files changed',
    updatedAt: ago(12),
    lastSeq: 9,
  })
  api.add({ sessionId: 's6', title: 'Release notes', lastTurn: 'failed', costUsd: 0.02, updatedAt: ago(50) })
  api.push('s1', FIX_CRLF)
  api.push('s1', [RUN_TESTS])
}

/** A question with options, in the session that else has a plan. */
export function aQuestion(api: CannedApi): void {
  const question: LooseEvent = {
    type: 'permission:request',
    requestId: 'q1',
    kind: 'question',
    toolName: 'AskUserQuestion',
    input: {
      questions: [
        {
          question: 'Which store should keep the drafts?',
          header: 'Storage',
          multiSelect: false,
          options: [
            { label: 'Local storage', description: 'Simple, this browser only' },
            { label: 'The server', description: 'Follows you to the phone' },
          ],
        },
      ],
    },
    raw: {},
  }
  api.push('s2', [
    { type: 'turn:start', message: 'Keep what I typed when I reload the page.' },
    {
      type: 'session:init',
      claudeSessionId: 'n',
      model: 'claude-opus-5-5',
      tools: [],
      harness: 'claude-code',
      version: '2.1.325',
    },
    {
      type: 'chat:message',
      messageId: 'q#0',
      text: 'Both places would do. I need to know one thing before I start.',
    },
    question,
  ])
  const [pending] = api.logs.get('s2')?.slice(-1) ?? []
  if (pending?.event.type === 'permission:request')
    api.setStatus('s2', { title: 'Keep drafts', pending: [pending.event] })
}

/** Sub-agents inside sub-agents, a plan, a retry and a command that prints while it runs. */
export function aSubAgent(api: CannedApi): void {
  api.push('s3', [
    { type: 'turn:start', message: 'Document every route, with an example that runs.' },
    {
      type: 'session:init',
      claudeSessionId: 'n',
      model: 'claude-opus-5-5',
      tools: [],
      harness: 'claude-code',
      version: '2.1.325',
    },
    {
      type: 'tool:start',
      toolUseId: 'todo',
      name: 'TodoWrite',
      input: {
        todos: [
          { content: 'List the routes', status: 'completed' },
          { content: 'Write the examples', status: 'in_progress' },
          { content: 'Run them', status: 'pending' },
        ],
      },
    },
    {
      type: 'status',
      status: 'retrying',
      level: 'warn',
      message: 'Overloaded (529), retry 1 of 10 in 0.6 s',
    },
    { type: 'chat:message', messageId: 'd#0', text: 'I have the routes looked at in parallel.' },
    {
      type: 'tool:start',
      toolUseId: 'a1',
      name: 'Agent',
      input: { description: 'Look at the session routes' },
    },
    {
      type: 'tool:start',
      toolUseId: 'a1r',
      name: 'Read',
      input: { file_path: 'src/rest/sessions.ts' },
      parentToolUseId: 'a1',
    },
    {
      type: 'tool:result',
      toolUseId: 'a1r',
      content: 'export const routes = []',
      isError: false,
      parentToolUseId: 'a1',
    },
    {
      type: 'tool:start',
      toolUseId: 'a2',
      name: 'Agent',
      input: { description: 'Follow the callers' },
      parentToolUseId: 'a1',
    },
    {
      type: 'chat:message',
      messageId: 'd#1',
      text: 'Looking at the callers of `createSession`.',
      parentToolUseId: 'a2',
    },
    {
      type: 'tool:start',
      toolUseId: 'a2g',
      name: 'Grep',
      input: { pattern: 'createSession(' },
      parentToolUseId: 'a2',
    },
    {
      type: 'tool:result',
      toolUseId: 'a2g',
      content: 'a.ts:1\nb.ts:2\nc.ts:3',
      isError: false,
      parentToolUseId: 'a2',
    },
    { type: 'tool:start', toolUseId: 'c1', name: 'Bash', input: { command: 'npm run docs -- --watch' } },
    {
      type: 'status',
      status: 'tool_progress',
      level: 'info',
      message: 'The command printed something',
      toolUseId: 'c1',
      data: {
        output: '\u001b[36mdocs\u001b[39m watching 14 files\n\u001b[32m✓\u001b[39m api.md built in 0.3 s\n',
      },
    },
  ])
}

/** The busy day with a month of usage before it: estimates, a second project, deleted sessions, a plan. */
export function aMonth(api: CannedApi): void {
  aBusyDay(api)
  api.usage = days =>
    aUsage(
      days,
      days === 1
        ? [{ usd: 14.82, tokens: 90_000 }]
        : [
            { time: '2026-11-08', usd: 6.9, tokens: 30_000 },
            { time: '2026-11-09', usd: 24.6, tokens: 80_000, isEstimate: true },
            { time: '2026-11-09', projectRoot: '/code/ledger', harness: 'codex', tokens: 4_000, usd: 7.2 },
          ],
      {
        ...{ sessionCount: 3, deleted: { sessions: 2, usd: 1.5, tokens: 9_000 } },
        sessions: [
          {
            ...{
              sessionId: 's1',
              title: 'Fix CRLF handling',
              projectRoot: '/code/parser-kit',
              persona: null,
            },
            ...{ harness: 'claude-code', model: 'opus', usd: 24.6, isEstimate: true },
            ...{ tokens: 80_000, unpricedTokens: 0 },
          },
        ],
        plans: [
          {
            ...{ harness: 'claude-code', at: '2026-01-01T12:00:00.000Z' },
            windows: [
              { name: '5 hours', minutes: 300, usedPercent: 62, resetsAt: '2199-01-01T00:00:00.000Z' },
              { name: 'week', usedPercent: 31, resetsAt: '2020-01-01T00:00:00.000Z' },
            ],
          },
        ],
      },
    )
}
