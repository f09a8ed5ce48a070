import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { claudeBinary, codexBinary } from '@chirality/fixtures'
import { acpDescriptor, findAllMarked, HARNESSES, type HarnessDescriptor } from '@chirality/runner'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BEHAVIOURS, type ConformanceOptions, type Finding, runConformance, verdictOf } from '../src/index.ts'

// Real agents in a short form: one start of each. The long form is `npm run conformance:matrix`.

const PATH = `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`

let temporary = ''
const before = process.env.TMPDIR
beforeEach(async () => {
  // Folder in which the trial makes its own: afterwards it has to be empty.
  temporary = await mkdtemp(path.join(tmpdir(), 'chirality-conformance-'))
  process.env.TMPDIR = temporary
})
afterEach(async () => {
  try {
    expect(readdirSync(temporary), 'folders left behind').toEqual([])
    expect(await ofThisTest(), 'processes left behind').toEqual([])
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
    await rm(temporary, { recursive: true, force: true })
  }
})

/** Marked processes that were started with this test's temporary folder; other tests run beside it. */
async function ofThisTest(): Promise<number[]> {
  const { readFileSync } = await import('node:fs')
  const marked = process.platform === 'linux' ? await findAllMarked() : []
  return marked.flatMap(({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(temporary) ? [pid] : []
    } catch {
      return []
    }
  })
}

function run(descriptor: HarnessDescriptor | undefined, options: Partial<ConformanceOptions> = {}) {
  if (!descriptor) throw new Error('no such harness')
  return runConformance({ descriptor, path: PATH, limitMs: 600_000, ...options })
}

function acp(...args: string[]): HarnessDescriptor {
  return acpDescriptor({ name: 'odd', command: process.execPath, args, env: [] })
}

function outcomes(findings: Finding[]): Record<string, string> {
  return Object.fromEntries(findings.map(({ behaviour, outcome }) => [behaviour, outcome]))
}

describe.each([
  { id: 'claude-code', binaryPath: claudeBinary() },
  { id: 'codex', binaryPath: codexBinary().path },
])('$id', ({ id, binaryPath }) => {
  test('answers, asks and obeys in a trial, which leaves nothing behind', async () => {
    const told: Finding[] = []
    const descriptor = HARNESSES.find(({ meta }) => meta.id === id)
    const report = await run(descriptor, {
      binaryPath,
      only: ['allow', 'deny'],
      onFinding: finding => told.push(finding),
    })
    expect(report).toMatchObject({ harness: id, version: expect.stringMatching(/^\d+\.\d+\.\d+/) })
    expect(report.refused).toBeUndefined()
    const shown = report.findings.map(({ behaviour, outcome, evidence }) => [behaviour, outcome, evidence])
    expect(shown).toEqual([
      ['text', 'supported', expect.any(String)],
      ['streaming', 'supported', expect.stringMatching(/^\d+ pieces\.$/)],
      ['instructions', 'supported', expect.any(String)],
      ['usage', 'supported', expect.stringMatching(/^1234 in, 56 out/)],
      ['command', 'supported', expect.any(String)],
      ['allow', 'supported', expect.stringContaining('ran it')],
      ['deny', 'supported', expect.stringContaining('obeyed')],
      ['events', 'supported', expect.stringContaining('all known')],
    ])
    expect(outcomes(told)).toEqual(outcomes(report.findings))
    expect(verdictOf(report)).toBe('works')
  })
})

describe('an agent of the Agent Client Protocol', () => {
  const odd = fileURLToPath(new URL('programs/odd-agent.mjs', import.meta.url))

  test('each behaviour that differs is described', async () => {
    const report = await run(acp(odd), {
      only: ['text', 'deny', 'allow', 'steering', 'errors', 'resume', 'exit'],
    })
    expect(report).toMatchObject({ harness: 'acp-odd', version: '7.7.7' })
    expect(outcomes(report.findings)).toEqual({
      text: 'supported',
      streaming: 'missing',
      instructions: 'supported',
      usage: 'missing',
      command: 'differs',
      allow: 'differs',
      deny: 'missing',
      steering: 'not-offered',
      close: 'supported',
      resume: 'missing',
      errors: 'differs',
      exit: 'not-offered',
      events: 'differs',
    })
    const evidence = new Map(report.findings.map(finding => [finding.behaviour, finding.evidence]))
    expect(evidence.get('deny')).toBe('It ran the command unasked.')
    expect(evidence.get('events')).toContain('from_the_future')
    expect(evidence.get('errors')).toContain('as an answer')
    // Once for each conversation, so the sum is no more than the run.
    const timed = report.findings.filter(({ durationMs }) => durationMs !== undefined)
    expect(timed.map(({ behaviour }) => behaviour)).toEqual([
      'text',
      'command',
      'deny',
      'steering',
      'close',
      'errors',
      'exit',
    ])
    expect(timed[0]?.durationMs).toBeGreaterThan(0)
    const sum = timed.reduce((total, { durationMs = 0 }) => total + durationMs, 0)
    expect(sum).toBeLessThanOrEqual(report.durationMs + timed.length)
    expect(verdictOf(report)).toBe('partly')
  })

  test.each([
    ['prints no JSON', ['-e', 'console.log("Hello, I am no agent.")'], 'Hello, I am no agent.'],
    ['exits at once', ['-e', 'process.exit(7)'], 'could not be started'],
    ['speaks protocol 99', [odd, '99'], '99'],
  ])('one that %s is named, and nothing else is tried', async (_what, args, words) => {
    const report = await run(acp(...args))
    expect(verdictOf(report)).toBe('fails')
    expect(report.findings[0]).toMatchObject({ behaviour: 'text', outcome: 'missing' })
    expect(report.findings[0]?.evidence).toContain(words)
    expect(Object.keys(outcomes(report.findings)).sort()).toEqual(Object.keys(BEHAVIOURS).sort())
    expect(new Set(Object.values(outcomes(report.findings)))).toEqual(new Set(['missing']))
  })

  test('one that never answers ends with the limit of a turn', async () => {
    const report = await run(acp('-e', 'setInterval(() => {}, 1000)'), { limitMs: 1_000 })
    expect(verdictOf(report)).toBe('fails')
    expect(report.findings[0]?.evidence).toMatch(/./)
  })

  test('a stop ends the trial with everything it started', async () => {
    const stop = new AbortController()
    const running = run(acp('-e', 'process.stdin.once("data", () => {}); setInterval(() => {}, 1000)'), {
      signal: stop.signal,
    })
    while (process.platform === 'linux' && (await ofThisTest()).length === 0)
      await new Promise(resolve => setTimeout(resolve, 20))
    stop.abort()
    await expect(running).rejects.toMatchObject({ name: 'AbortError' })
  })
})

test('a stop does not wait for a turn that is stuck', async () => {
  const { create, ...rest } = acp('-e', '')
  const stop = new AbortController()
  const running = run(
    {
      ...rest,
      create: async options =>
        new Proxy(await create(options), {
          get: (harness, key) => {
            if (key === 'startTurn') return stuck
            const value: unknown = Reflect.get(harness, key)
            return typeof value === 'function' ? value.bind(harness) : value
          },
        }),
    },
    { signal: stop.signal },
  )
  async function* stuck() {
    stop.abort()
    await new Promise(() => {})
  }
  await expect(running).rejects.toMatchObject({ name: 'AbortError' })
})

test('a program that is missing, and a release that is too old, are refused with what to do', async () => {
  const missing = await run(acpDescriptor({ name: 'x', command: '/nowhere/agent', args: [], env: [] }))
  expect(missing).toMatchObject({ refused: expect.stringContaining('no program'), findings: [] })
  const { writeFile, chmod } = await import('node:fs/promises')
  const old = path.join(temporary, 'old')
  await writeFile(old, '#!/bin/sh\necho "codex-cli 0.80.0"\n')
  await chmod(old, 0o755)
  const report = await run(
    HARNESSES.find(({ meta }) => meta.id === 'codex'),
    { binaryPath: old },
  )
  await rm(old)
  expect(report).toMatchObject({ version: '0.80.0', findings: [] })
  expect(report.refused).toMatch(/0\.122\.0 or later.*npm install -g @openai\/codex/)
})
