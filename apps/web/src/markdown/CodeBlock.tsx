import { memo, useEffect, useState } from 'react'
import { CopyButton } from '../ui/controls/CopyButton.tsx'
import { ScrollRegion } from '../ui/virtual/ScrollRegion.tsx'
import { highlight } from './highlight.ts'
import type { Run } from './highlight-runs.ts'
import './code-block.css'

/** Code with a button to copy it. Plain at first; colours come from a worker and move nothing. */
export const CodeBlock = memo(function CodeBlock(props: { code: string; language: string; live?: boolean }) {
  const { code, language, live = false } = props
  return (
    <figure className="code-block">
      <figcaption>
        <span>{language || 'text'}</span>
        <CopyButton text={code} label="Copy code" />
      </figcaption>
      <ScrollRegion role="group" className="code-block__code" label={language ? `Code, ${language}` : 'Code'}>
        <pre>
          <HighlightedCode code={code} language={language} live={live} />
        </pre>
      </ScrollRegion>
    </figure>
  )
})

export function HighlightedCode(props: { code: string; language: string; live?: boolean }) {
  const { code, language, live = false } = props
  const [result, setResult] = useState<{ code: string; runs: readonly Run[] } | null>(null)
  useEffect(() => {
    if (live) return
    let wanted = true
    void highlight(code, language).then(runs => {
      if (wanted && runs) setResult({ code, runs })
    })
    return () => {
      wanted = false
    }
  }, [code, language, live])
  if (result?.code !== code) return <code>{code}</code>
  return (
    <code>
      {result.runs.map(([text, tone], index) =>
        tone ? (
          <span key={index} className={`hl-${tone}`}>
            {text}
          </span>
        ) : (
          text
        ),
      )}
    </code>
  )
}
