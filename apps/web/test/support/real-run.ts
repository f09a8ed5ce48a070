import { createTranslator, NdjsonFramer } from '@chirality/core'
import { fixtureCases, readStdout } from '@chirality/fixtures'
import type { CannedApi, LooseEvent } from './canned-api.ts'

/** What a real Claude Code printed while it used its tools, and the events that it became. */
export function aRealRun(api: CannedApi, sessionId = 's1', turnId = 't1'): void {
  const run = fixtureCases().find(({ name, version }) => name === 'tools' && version === '2.1.325')
  if (!run) throw new Error('the captured run is missing')
  const stdout = readStdout(run)
  const translator = createTranslator('claude-code', { sessionId })
  const events = new NdjsonFramer()
    .push(stdout)
    .flatMap(record => translator?.translateRecord(record) ?? []) as LooseEvent[]
  const lines = stdout.toString('utf8').split('\n').filter(Boolean)
  api.print(sessionId, lines, { turnId })
  api.push(sessionId, [{ type: 'turn:start', message: 'Use your tools.' }, ...events], turnId)
  api.push(sessionId, [{ type: 'turn:end', reason: 'completed' }], turnId)
}
