import { type AnsiRun, ansiRuns } from '../../ansi/Ansi.tsx'

/** One line of what was printed: its text, and the same in colours. */
export interface OutputLine {
  readonly text: string
  readonly runs: readonly AnsiRun[]
}

/** All that was printed, line by line. A colour that is open goes on in the next line. */
export function outputLines(output: string): OutputLine[] {
  const lines: AnsiRun[][] = [[]]
  for (const [text, classes] of ansiRuns(output.replace(/\n$/, ''))) {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) lines.push([])
      if (piece !== '') lines.at(-1)?.push([piece, classes])
    }
  }
  return lines.map(runs => ({ text: runs.map(([text]) => text).join(''), runs }))
}

export interface LineMatch {
  readonly line: number
  readonly from: number
  readonly to: number
}

export function matchesIn(lines: readonly OutputLine[], pattern: RegExp): LineMatch[] {
  return lines.flatMap(({ text }, line) =>
    [...text.matchAll(pattern)].map(({ index, 0: found }) => ({
      line,
      from: index,
      to: index + found.length,
    })),
  )
}

export interface LinePiece {
  readonly text: string
  readonly classes: string
  readonly match: LineMatch | null
}

/** The runs of a line, cut where matches begin and end. */
export function linePieces({ runs }: OutputLine, matches: readonly LineMatch[]): LinePiece[] {
  let at = 0
  return runs.flatMap(([text, classes]) => {
    const [start, end] = [at, at + text.length]
    at = end
    const cuts = new Set([start, end])
    for (const { from, to } of matches)
      for (const cut of [from, to]) if (cut > start && cut < end) cuts.add(cut)
    const places = [...cuts].sort((a, b) => a - b)
    return places.slice(0, -1).map((from, index) => {
      const to = places[index + 1] ?? end
      const match = matches.find(one => one.from <= from && one.to >= to) ?? null
      return { text: text.slice(from - start, to - start), classes, match }
    })
  })
}
