/** A piece of code and the kind of thing it is, or null. */
export type Run = readonly [text: string, tone: string | null]

export interface HighlightRequest {
  id: number
  code: string
  language: string
}

export interface HighlightAnswer {
  id: number
  runs: readonly Run[] | null
}
