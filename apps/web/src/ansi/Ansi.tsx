import Anser from 'anser'
import { memo } from 'react'
import './ansi.css'

/** Terminal output as text with colours; of a very long one the end, which is where it says what went wrong. */
export const Ansi = memo(function Ansi({
  text,
  maxChars = MAX_ANSI_CHARS,
}: {
  text: string
  maxChars?: number
}) {
  const shown = text.length > maxChars ? text.slice(-maxChars) : text
  return (
    <>
      {shown.length < text.length ? (
        <span className="ansi__cut">{`… ${text.length - shown.length} characters before this\n`}</span>
      ) : null}
      {shown.includes('\u001b') ? <Coloured text={shown} /> : withoutRewrites(shown)}
    </>
  )
})

export const MAX_ANSI_CHARS = 40_000

function Coloured({ text }: { text: string }) {
  return ansiRuns(text).map(([content, classes], index) =>
    classes === '' ? (
      content
    ) : (
      <span key={index} className={classes}>
        {content}
      </span>
    ),
  )
}

/** A piece of what was printed, with the classes of its colours. */
export type AnsiRun = readonly [text: string, classes: string]

export function ansiRuns(text: string): AnsiRun[] {
  const runs = Anser.ansiToJson(withoutRewrites(text), { use_classes: true, remove_empty: true })
  return runs.map(run => {
    const classes = [
      run.fg && `ansi-fg-${className(run.fg)}`,
      run.bg && `ansi-bg-${className(run.bg)}`,
      ...run.decorations.map(decoration => `ansi-${decoration}`),
    ]
    return [run.content, classes.filter(Boolean).join(' ')]
  })
}

/** `ansi-bright-red` and `ansi-palette-…` of the library become one of the sixteen colours that we have. */
function className(name: string): string {
  return name.replace(/^ansi-/, '').replace(/[^a-z-]/g, '')
}

/** A line that overwrites itself with carriage returns, like a progress bar, is its last state. */
function withoutRewrites(text: string): string {
  if (!text.includes('\r')) return text
  return text
    .replace(/\r\n/g, '\n')
    .split('\n')
    .map(line => line.slice(line.lastIndexOf('\r') + 1))
    .join('\n')
}
