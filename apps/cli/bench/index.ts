import { benchRow, reportBench } from '../../../packages/core/bench/report.ts'
import { measureClaudeTurn, measureCodexTurn, type OneWordTurn } from './one-word-turn.ts'

const MOST_TIMES_BARE = 1.15
const FIRST_TIMES_BARE = 1.1

reportBench('@chirality/cli', [
  ...rows('claude -p', await measureClaudeTurn()),
  ...rows('codex exec', await measureCodexTurn()),
])

function rows(bare: string, { ratio, firstRatio, bareMs, runMs, rounds }: OneWordTurn) {
  const detail = `chirality ${runMs.toFixed(0)} ms, ${bare} ${bareMs.toFixed(0)} ms, medians of ${rounds} pairs`
  return [
    benchRow({
      name: `a one-word turn: chirality run over ${bare}`,
      ...{ ratio, bar: MOST_TIMES_BARE, better: 'lower', detail },
    }),
    benchRow({
      name: `a one-word turn, first output: chirality run over ${bare}`,
      ...{ ratio: firstRatio, bar: FIRST_TIMES_BARE, better: 'lower', detail },
    }),
  ]
}
