import { benchRow, reportBench } from '../../../packages/core/bench/report.ts'
import { measureOneWordTurn } from './one-word-turn.ts'

const MOST_TIMES_BARE = 1.15

const { ratio, bareMs, runMs, rounds } = await measureOneWordTurn()

reportBench('@chirality/cli', [
  benchRow({
    name: 'a one-word turn: chirality run over the bare agent',
    ratio,
    bar: MOST_TIMES_BARE,
    better: 'lower',
    detail: `chirality ${runMs.toFixed(0)} ms, claude -p ${bareMs.toFixed(0)} ms, medians of ${rounds} pairs`,
  }),
])
