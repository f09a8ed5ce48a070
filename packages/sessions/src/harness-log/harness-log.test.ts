import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { describe, expect, test } from 'vitest'
import { range } from '../../test/support/events.ts'
import { FAULTS, FaultyOps } from '../../test/support/faulty-ops.ts'
import { useProject } from '../../test/support/project.ts'
import { HarnessLog, type HarnessLogOptions } from './harness-log.ts'
import { type HarnessLogRow, type LogEntry, ROW_LEVELS } from './rows.ts'

const project = useProject()
const open = (options: HarnessLogOptions = {}) => HarnessLog.open(project.root, options)
const path = (ending = '') => project.file('logs', `harness.log${ending}`)

function entries(ending = ''): LogEntry[] {
  const lines = readFileSync(path(ending), 'utf8').split('\n')
  expect(lines.pop()).toBe('')
  return lines.map(line => JSON.parse(line))
}

const rows: HarnessLogRow[] = [
  { event: 'turn:start', userMessage: 'm'.repeat(300), persona: 'DECOMP', mode: 'workbench' },
  { event: 'process:spawn', command: 'claude -p', pid: 7 },
  { event: 'session:init', claudeSessionId: 'n1', model: 'm1', tools: ['Bash'] },
  { event: 'tool:invoke', toolName: 'Write', input: { file_path: 'a', content: 'c'.repeat(500) } },
  { event: 'tool:result', toolName: 'Write', isError: false, contentLength: 12 },
  { event: 'turn:complete', costUsd: 0.1, inputTokens: 1, outputTokens: 2, durationMs: 3 },
  { event: 'resume:attempt', claudeSessionId: 'n1' },
  { event: 'resume:failed', claudeSessionId: 'n1', error: 'gone' },
  { event: 'process:exit', exitCode: 0, signal: null, durationMs: 5 },
  { event: 'parse:error', line: 'l'.repeat(600) },
  { event: 'stderr', line: 'oh' },
  { event: 'error', message: 'boom', stack: 'at x' },
]

describe('the rows', () => {
  test('are those of the specification, with its levels and lengths', async () => {
    const log = await open({ now: () => new Date('2026-02-07T10:11:12.345Z') })
    for (const row of rows) log.write('s1', row)
    log.close()
    const written = entries()
    expect(written.map(({ event, level }) => [event, level])).toEqual(Object.entries(ROW_LEVELS))
    expect(written[0]).toEqual({
      timestamp: '2026-02-07T10:11:12.345Z',
      sessionId: 's1',
      level: 'info',
      event: 'turn:start',
      data: { userMessage: 'm'.repeat(200), persona: 'DECOMP', mode: 'workbench' },
    })
    expect(written[3]?.data).toEqual({
      toolName: 'Write',
      inputSummary: `{"file_path":"a","content":"${'c'.repeat(500)}`.slice(0, 200),
    })
    expect(written[9]?.data).toEqual({ line: 'l'.repeat(500) })
    expect(statSync(path()).mode & 0o777).toBe(0o600)
  })

  test('the rows of a harness get the same field names', async () => {
    const log = await open()
    const data = { command: 'claude', args: ['-p', "it's"], pid: 7, cwd: '/x' }
    log.relay({ level: 'info', event: 'process:spawn', sessionId: 's1', data })
    log.relay({ level: 'info', event: 'process:exit', data: { code: 1, signal: null, durationMs: 9 } })
    log.relay({ level: 'debug', event: 'note' })
    log.close()
    expect(entries().map(({ data }) => data)).toEqual([
      { command: `claude -p 'it'\\''s'`, pid: 7, cwd: '/x' },
      { exitCode: 1, signal: null, durationMs: 9 },
      undefined,
    ])
  })

  test('take any data without throwing', async () => {
    const log = await open()
    const loop: Record<string, unknown> = {}
    loop.self = loop
    let deep: unknown = 0
    for (let i = 0; i < 100_000; i += 1) deep = [deep]
    log.relay({
      level: 'info',
      event: 'odd',
      data: { loop, deep, big: 1n, error: new Error('x'), f: () => 1 },
    })
    log.write('s1', { event: 'tool:invoke', toolName: 'T', input: loop })
    log.close()
    expect(entries()).toHaveLength(2)
  })
})

describe('secrets', () => {
  test('stay out, by value and by look, also where a text is cut', async () => {
    const key = `sk-ant-${'k'.repeat(60)}`
    const log = await open({ secrets: ['my-secret-value', 'short'] })
    log.write('s1', {
      event: 'turn:start',
      userMessage: `${'x'.repeat(150)} ${key}`,
      persona: null,
      mode: 'direct',
    })
    log.write('s1', {
      event: 'stderr',
      line: `my-secret-value ${Buffer.from('my-secret-value').toString('base64')}`,
    })
    log.write('s1', { event: 'process:spawn', command: 'ANTHROPIC_API_KEY=abcdefgh claude', pid: 1 })
    log.relay({
      level: 'info',
      event: 'x',
      data: { headers: [{ authorization: 'abc' }], 'my-secret-value': 1 },
    })
    log.close()
    const text = readFileSync(path(), 'utf8')
    expect(text).not.toMatch(/sk-ant|kkk|my-secret-value|bXktc2VjcmV0|abcdefgh|"abc"/)
    expect(entries()[2]?.data).toEqual({ command: 'ANTHROPIC_API_KEY=[redacted] claude', pid: 1 })
  })
})

describe('rotation', () => {
  test('keeps one old file, and no line is lost between the two', async () => {
    const log = await open({ maxBytes: 10_000 })
    for (const n of range(1, 500)) log.write('s1', { event: 'stderr', line: String(n) })
    log.close()
    const numbers = [...entries('.1'), ...entries()].map(({ data }) => Number(data?.line))
    expect(numbers).toEqual(range(500 - numbers.length + 1, 500))
    expect(statSync(path('.1')).size).toBeLessThanOrEqual(10_000)
    expect(existsSync(path('.2'))).toBe(false)
  })

  test('a rotation by another process is detected', async () => {
    const log = await open()
    log.write('s1', { event: 'stderr', line: '1' })
    renameSync(path(), path('.1'))
    log.write('s1', { event: 'stderr', line: '2' })
    log.close()
    expect([entries('.1').length, entries().length]).toEqual([1, 1])
  })
})

describe('trouble', () => {
  test.each(FAULTS)('%s at any operation never throws, and is told later', async kind => {
    for (const k of range(1, 12)) {
      rmSync(project.file(), { recursive: true, force: true })
      const faulty = new FaultyOps(kind, k, 'lasting')
      const log = await open({ ops: faulty.ops })
      for (const n of range(1, 5)) log.write('s1', { event: 'stderr', line: String(n) })
      faulty.clear()
      for (const n of range(6, 7)) log.write('s1', { event: 'stderr', line: String(n) })
      log.close()
      const lines = readFileSync(path(), 'utf8').split('\n')
      expect(lines.filter(line => line.startsWith('{') && line.endsWith('"line":"7"}}'))).toHaveLength(1)
    }
  })

  test('a folder that was deleted comes back', async () => {
    const log = await open()
    log.write('s1', { event: 'stderr', line: '1' })
    rmSync(project.file(), { recursive: true })
    log.write('s1', { event: 'stderr', line: '2' })
    while (!existsSync(project.file('logs'))) await new Promise(resolve => setImmediate(resolve))
    log.write('s1', { event: 'stderr', line: '3' })
    log.close()
    expect(entries().map(({ event, data }) => [event, data?.line ?? data?.count])).toEqual([
      ['log:dropped', 1],
      ['stderr', '3'],
    ])
  })

  test('a symlink in its place is not followed', async () => {
    const target = `${project.root}/target`
    writeFileSync(target, '')
    mkdirSync(project.file('logs'), { recursive: true })
    symlinkSync(target, path())
    const log = await open()
    log.write('s1', { event: 'stderr', line: '1' })
    log.close()
    expect(readFileSync(target, 'utf8')).toBe('')
  })
})
