import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { versionSupport } from '@chirality/core'
import { HARNESSES } from '@chirality/runner'
import { describe, expect, onTestFinished, test } from 'vitest'
import { commandTool, toolNames } from './offered-tools.ts'
import { type ConformanceReport, type Finding, type Outcome, reportTable, verdictOf } from './report.ts'
import { countResults, newestResults, readResult, storeResult } from './results.ts'

function report(outcomes: Outcome[], fields: Partial<ConformanceReport> = {}): ConformanceReport {
  const ids = ['text', 'streaming', 'usage'] as const
  const findings = outcomes.map<Finding>((outcome, i) => ({
    behaviour: ids[i] ?? 'events',
    outcome,
    evidence: `Line ${i}.`,
  }))
  return {
    harness: 'acp-x',
    name: 'Agent X',
    version: '1.2.3',
    at: '2026-01-01T00:00:00.000Z',
    durationMs: 1234,
    findings,
    ...fields,
  }
}

describe('the table', () => {
  test('has a line for each behaviour', () => {
    const text = reportTable(report(['supported', 'not-offered', 'differs']))
    expect(text).toBe(
      [
        'Agent X 1.2.3: works with differences, 1.2 s',
        '✓ text              supported           Line 0.',
        '- streaming         not offered         Line 1.',
        '~ usage             differs             Line 2.',
        '',
      ].join('\n'),
    )
  })

  test('says how long each conversation took', () => {
    const given = report(['supported', 'supported', 'supported'])
    const findings = given.findings.map((finding, i) => ({
      ...finding,
      durationMs: [940, undefined, 61_250][i],
    }))
    expect(reportTable({ ...given, findings }).split('\n')).toEqual([
      'Agent X 1.2.3: works, 1.2 s',
      '✓ text              supported     0.9 s Line 0.',
      '✓ streaming         supported           Line 1.',
      '✓ usage             supported    61.3 s Line 2.',
      '',
    ])
  })

  test('says only why, where nothing was tried', () => {
    expect(reportTable(report([], { refused: 'It is too old.' }))).toBe(
      'Agent X 1.2.3: refused. It is too old.\n',
    )
    expect(reportTable(report(['missing', 'missing']))).toBe(
      'Agent X 1.2.3: does not answer. Line 0.\nNothing else was tried.\n',
    )
  })

  test.each([
    [['supported', 'not-offered'], 'works'],
    [['supported', 'differs'], 'partly'],
    [['supported', 'missing'], 'partly'],
    [['missing', 'supported'], 'fails'],
  ] as const)('%s: %s', (outcomes, verdict) => {
    expect(verdictOf(report([...outcomes]))).toBe(verdict)
  })
})

describe('the tool that runs commands', () => {
  const schema = {
    type: 'object',
    properties: {
      command: { type: 'string' },
      description: { type: 'string' },
      timeout: { type: 'integer' },
    },
    required: ['command', 'description', 'timeout'],
  }
  const input = { command: 'ls', description: 'A trial.', timeout: 60_000 }

  test.each([
    [
      'Messages',
      {
        tools: [
          { name: 'Read', input_schema: schema },
          { name: 'Bash', input_schema: schema },
        ],
      },
    ],
    ['Chat Completions', { tools: [{ type: 'function', function: { name: 'Bash', parameters: schema } }] }],
    ['Gemini', { tools: [{ functionDeclarations: [{ name: 'Bash', parametersJsonSchema: schema }] }] }],
    [
      'Responses',
      { tools: [{ type: 'web_search' }, { type: 'function', name: 'Bash', parameters: schema }] },
    ],
  ])('is found in a request of %s', (_api, body) => {
    expect(commandTool(body)?.call('ls')).toEqual({ tool: 'Bash', input })
  })

  test('takes a list of words, and what makes it ask', () => {
    const properties = { command: { type: 'array' }, sandbox: { enum: ['a', 'b'] } }
    const body = { tools: [{ name: 'shell', parameters: { properties, required: ['sandbox'] } }] }
    expect(commandTool(body)?.call('ls', { sandbox: 'b', unknown: 1 })).toEqual({
      tool: 'shell',
      input: { command: ['sh', '-c', 'ls'], sandbox: 'b' },
    })
  })

  test.each([[undefined], [{ tools: 'none' }], [{ tools: [{ name: 'bash_output', input_schema: schema }] }]])(
    'is not found in %j',
    body => expect(commandTool(body)).toBeUndefined(),
  )

  test('names what there is instead', () => {
    expect(toolNames({ tools: [{ name: 'Read' }, { type: 'web_search' }] })).toEqual(['Read'])
  })
})

describe('results', () => {
  function folder(): string {
    const data = mkdtempSync(path.join(tmpdir(), 'chirality-results-'))
    onTestFinished(() => rmSync(data, { recursive: true, force: true }))
    return data
  }

  test('are kept for each agent and version', async () => {
    const data = folder()
    expect(await newestResults(data)).toEqual([])
    const first = report(['supported'])
    const second = report(['missing'], { version: '1.3.0', at: '2026-01-02T00:00:00.000Z' })
    const other = report(['supported'], { harness: 'acp-y' })
    for (const each of [second, first, other]) await storeResult(data, each)
    expect(await readResult(data, 'acp-x', '1.2.3')).toEqual(first)
    expect(await readResult(data, 'acp-x', '9.9.9')).toBeUndefined()
    expect(await newestResults(data)).toEqual(expect.arrayContaining([second, other]))
    expect(await newestResults(data)).toHaveLength(2)
  })

  test('a release that passed everything counts as tested, one that did not does not', async () => {
    const data = folder()
    const meta = HARNESSES.find(({ meta }) => meta.id === 'codex')?.meta
    const support = (version: string) => versionSupport(version, meta?.versions)
    const trial = (version: string, outcomes: Outcome[]) =>
      report(outcomes, { harness: 'codex', version, at: '2026-01-01T00:00:00.000Z' })
    await storeResult(data, trial('0.900.1', ['supported', 'not-offered']))
    await storeResult(data, trial('0.900.2', ['supported', 'differs']))
    expect([support('0.900.1'), support('0.900.2')]).toEqual(['tested', 'newer'])
    // File left by another process.
    const other = { ...trial('0.900.3', ['supported']) }
    writeFileSync(path.join(data, 'conformance', 'codex@0.900.3.json'), JSON.stringify(other))
    expect(support('0.900.3')).toBe('newer')
    await countResults(data)
    expect(support('0.900.3')).toBe('tested')
  })

  test('stay in their folder whatever a version says, and damaged files are passed over', async () => {
    const data = folder()
    const hostile = report(['supported'], { version: '../../../etc/passwd' })
    await storeResult(data, hostile)
    expect(readdirSync(data)).toEqual(['conformance'])
    expect(await readResult(data, 'acp-x', hostile.version)).toEqual(hostile)
    const damaged = (fields: Partial<Finding>) => {
      const findings = hostile.findings.map(finding => ({ ...finding, ...fields }))
      return JSON.stringify({ ...hostile, findings, at: '2026-02-01T00:00:00.000Z' })
    }
    for (const [name, text] of [
      ['a', 'no json'],
      ['b', '{}'],
      [
        'c',
        JSON.stringify({ ...report(['supported']), findings: [{ behaviour: 'unheard-of', evidence: '' }] }),
      ],
      ['d', 'null'],
      ['e', damaged({ outcome: 'excellent' as Outcome })],
      ['f', damaged({ durationMs: 'long' as unknown as number })],
    ])
      writeFileSync(path.join(data, 'conformance', `${name}.json`), text ?? '')
    expect(await newestResults(data)).toEqual([hostile])
  })
})
