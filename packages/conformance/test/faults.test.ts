import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { claudeBinary, faultyClaude } from '@chirality/fixtures'
import { acpDescriptor, HARNESSES, type HarnessDescriptor } from '@chirality/runner'
import { afterAll, describe, expect, test } from 'vitest'
import { type BehaviourId, type ConformanceOptions, type Outcome, runConformance } from '../src/index.ts'

// The real Claude Code with one fault at a time: what a trial does not name, nobody would.

const folder = mkdtempSync(path.join(tmpdir(), 'chirality-faults-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Row = readonly [behaviour: BehaviourId, outcome: Outcome, evidence: RegExp]

/** Faults with a row of their own; `npm run test:all` tries the rest, too. */
const PLAIN: [fault: string, row: Row][] = [
  ['no-usage', ['usage', 'missing', /no tokens/]],
  ['deltas-reordered', ['streaming', 'differs', /out of order/]],
  ['no-partial-messages', ['streaming', 'missing', /one piece/]],
  ['instructions-lost', ['instructions', 'missing', /does not have them/]],
  ['deny-is-allow', ['deny', 'missing', /denied, and ran/]],
  ['skips-permissions', ['deny', 'missing', /unasked/]],
  ['never-asks', ['deny', 'differs', /Nobody was asked/]],
  ['hides-results', ['command', 'differs', /not shown/]],
  ['error-is-success', ['errors', 'differs', /./]],
  ['exits-with-7', ['exit', 'differs', /7/]],
  ['new-event', ['events', 'differs', /from_the_future/]],
  ['junk-lines', ['events', 'differs', /no event/]],
]

// Side by side: a trial of an agent that does not end is idle for most of its time.
test.concurrent.each<[fault: string, row: Row, limitMs?: number]>([
  ['usage-other', ['usage', 'differs', /^7 in, 56 out.*the model said 1234 in, 56 out/]],
  ['deltas-twice', ['streaming', 'differs', /twice/]],
  ['deltas-lost', ['streaming', 'differs', /lost/]],
  ['result-twice', ['text', 'differs', /twice/]],
  ['tool-result-twice', ['command', 'differs', /told twice/]],
  ['no-result', ['text', 'missing', /does not end its turn/], 20_000],
  ['no-replay', ['steering', 'differs', /does not say that it read it/]],
  ['deaf-to-interrupt', ['interrupt', 'differs', /Ended by Chirality/]],
  ['slow-to-exit', ['close', 'differs', /Ended by Chirality/]],
  ...(process.env.CHIRALITY_TEST_ALL === '1' ? PLAIN : []),
])('%s is named', async (fault, [behaviour, outcome, evidence], limitMs = 600_000) => {
  const descriptor = HARNESSES.find(({ meta }) => meta.id === 'claude-code')
  const binaryPath = faultyClaude(folder, claudeBinary(), fault)
  const { findings } = await run(descriptor, { binaryPath, limitMs, only: [behaviour] })
  const row = findings.find(finding => finding.behaviour === behaviour)
  expect(row).toMatchObject({ outcome, evidence: expect.stringMatching(evidence) })
})

describe.concurrent('an agent of the Agent Client Protocol', () => {
  const program = fileURLToPath(new URL('programs/faulty-acp.mjs', import.meta.url))
  const agent = (...args: string[]) =>
    acpDescriptor({ name: 'faulty', command: process.execPath, args, env: [] })

  test('without a fault differs in nothing but what it does not offer', async () => {
    const { findings } = await run(agent(program))
    const others = findings.filter(({ outcome }) => outcome === 'differs' || outcome === 'missing')
    expect(others).toMatchObject([{ behaviour: 'resume', evidence: 'The conversation began anew.' }])
  })

  test.each<[fault: string, row: Row]>([
    ['chunks-twice', ['text', 'differs', /twice/]],
    ['chunks-twice', ['streaming', 'differs', /twice/]],
    ['chunks-twice', ['deny', 'supported', /obeyed/]],
    ['result-kept', ['command', 'differs', /is shown, and the model does not have it/]],
    ['chunks-out-of-order', ['streaming', 'differs', /out of order/]],
    ['usage-of-the-last-call', ['usage', 'differs', /3000 in, 40 out: only those of the last one/]],
    // An update of a call replaces the one before: the protocol allows to say it again.
    ['result-told-twice', ['command', 'supported', /both sides have its result/]],
    ['answer-cut-at-64-kb', ['text', 'differs', /cut: \d+ of \d+ characters/]],
    ['other-session', ['text', 'missing', /another session/]],
    // No fault: what it announces is tried, though no table of known agents has it.
    ['steers', ['steering', 'supported', /as it wrote, and one as a command ran/]],
    ['deaf-to-cancel', ['interrupt', 'differs', /Ended by Chirality/]],
    ['not-set-up', ['text', 'missing', /The words of a program.*Log in\./]],
  ])('%s is named', async (fault, [behaviour, outcome, evidence]) => {
    const { findings } = await run(agent(program, fault), { only: [behaviour] })
    const row = findings.find(finding => finding.behaviour === behaviour)
    expect(row).toMatchObject({ outcome, evidence: expect.stringMatching(evidence) })
  })

  test('a program that repeats its input is no agent, and that is said', async () => {
    const { findings } = await run(acpDescriptor({ name: 'cat', command: 'cat', args: [], env: [] }))
    expect(findings[0]?.evidence).toContain('repeats what it is sent: it is no agent')
  })
})

function run(descriptor: HarnessDescriptor | undefined, options: Partial<ConformanceOptions> = {}) {
  if (!descriptor) throw new Error('no such harness')
  const programs = `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`
  return runConformance({ descriptor, path: programs, limitMs: 600_000, ...options })
}
