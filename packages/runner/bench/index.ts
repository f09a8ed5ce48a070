import { benchRow, reportBench } from '../../core/bench/report.ts'
import { acpRows } from './acp.ts'
import { claudeRows } from './claude-code.ts'
import { codexRow } from './codex.ts'
import { messagesApiRows } from './messages-api.ts'
import { measureTailLatency, type Percentiles } from './tail-latency.ts'
import { toolServerRow } from './tool-server.ts'

const ALLOWED_ABOVE_PIPE_MS = 1

const { file, pipe } = await measureTailLatency()
const show = ({ p50Ms, p99Ms }: Percentiles) => `p50 ${p50Ms.toFixed(3)} ms, p99 ${p99Ms.toFixed(3)} ms`

reportBench('@chirality/runner', [
  benchRow({
    name: 'stdout write to event: p50 through the spool above a pipe, in ms',
    ratio: file.p50Ms - pipe.p50Ms,
    bar: ALLOWED_ABOVE_PIPE_MS,
    better: 'lower',
    detail: `spool ${show(file)}; pipe ${show(pipe)}`,
  }),
  await toolServerRow(),
  await codexRow(),
  ...(await claudeRows()),
  ...(await messagesApiRows()),
  ...(await acpRows()),
])
