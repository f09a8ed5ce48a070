import { type HighlightAnswer, type HighlightRequest, highlightRuns } from './highlight-runs.ts'

addEventListener('message', ({ data }: MessageEvent<HighlightRequest>) => {
  const answer: HighlightAnswer = { id: data.id, runs: highlightRuns(data.code, data.language) }
  postMessage(answer)
})
