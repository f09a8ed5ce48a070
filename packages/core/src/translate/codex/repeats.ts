/**
 * Codex sends a request again when its stream breaks, and what the model had already said then can come a second time,
 * as new items. Only what stands in the same place and has the same words is taken for a repetition.
 */
export interface Repeats {
  /** Something was said for the first time. */
  said(words: string): void
  /** The agent acted: what it says next answers another request. */
  acted(): void
  /** The stream broke. */
  broke(): void
  /** Whether these could be the first words of a repetition. */
  couldBe(words: string): boolean
  /** Whether these are one; counts it as come, or gives up waiting for more. */
  take(words: string): boolean
}

export function createRepeats(): Repeats {
  let said: string[] = []
  let expected: string[] = []
  return {
    said: words => {
      said.push(words)
    },
    acted: () => {
      said = []
      expected = []
    },
    broke: () => {
      expected = [...said]
    },
    couldBe: words => expected[0]?.startsWith(words) ?? false,
    take: words => {
      const repeated = expected[0] === words
      expected = repeated ? expected.slice(1) : []
      return repeated
    },
  }
}
