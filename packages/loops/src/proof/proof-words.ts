import type { Mutants, Proof, TestCounts } from './verdict.ts'

/** Parts of a proof, line by line, for the page of a receipt. */
export function proofLines(proof: Proof | undefined): string[] {
  if (proof === undefined) return []
  const { base, judged, counts, fresh, mutants } = proof
  return [
    ...base.map(({ command, state }) => `- Before the task \`${command}\` was ${state}.`),
    judgedLine(judged),
    ...(counts.by === null
      ? ['- Tests: not counted. No runner that is known left a report.']
      : [`- Tests (${counts.by}): ${countsText(counts.before)} before, ${countsText(counts.after)} after.`]),
    ...('why' in fresh ? [`- New tests on the old code: ${fresh.why}`] : []),
    ...(fresh.kind === 'red' ? ['- New tests on the old code: they fail there, as they should.'] : []),
    ...(mutants === undefined
      ? []
      : [`- Mutations: ${triedWords(mutants)}, ${mutants.survived.length} not noticed.`]),
    ...(mutants?.survived ?? []).map(({ file, line, change }) => `  - ${file}:${line}: ${change}`),
    '',
  ]
}

export function triedWords({ tried, planned }: Mutants): string {
  return planned === undefined ? `${tried} tried` : `not finished: ${tried} of ${planned} tried`
}

function judgedLine(judged: Proof['judged']): string {
  if (judged.kind === 'same') return '- Nothing that judges was changed: the checks ran once on it.'
  if (judged.kind === 'unreadable') return `- With the tests of the base: not known. ${judged.why}`
  const held = judged.results.filter(({ exitCode }) => exitCode === 0).length
  return `- With the tests of the base: ${held} of ${judged.results.length} checks held. Put back: ${judged.putBack.join(', ')}`
}

function countsText(counts: TestCounts | null): string {
  if (counts === null) return 'not counted'
  const { tests, skipped, todo, failingByDesign, assertions } = counts
  return [
    `${tests}`,
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(todo > 0 ? [`${todo} planned`] : []),
    ...(failingByDesign > 0 ? [`${failingByDesign} that count when they fail`] : []),
    ...(assertions === null ? [] : [`${assertions} assertions`]),
  ].join(', ')
}
