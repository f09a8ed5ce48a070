import type { HighlightAnswer, HighlightRequest } from './highlight-messages.ts'
import { highlightRuns } from './highlight-runs.ts'

addEventListener('message', ({ data }: MessageEvent<HighlightRequest>) => {
  const answer: HighlightAnswer = { id: data.id, runs: highlightRuns(data.code, data.language) }
  postMessage(answer)
})
