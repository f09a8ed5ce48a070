import { answersOf, factsOf, outputCut, type Question, type ToolItem } from '@chirality/core'
import { useState } from 'react'
import { Ansi, MAX_ANSI_CHARS } from '../../ansi/Ansi.tsx'
import { Markdown } from '../../markdown/Markdown.tsx'
import { useLiveText, useSession, useSessionActions } from '../../state/session/use-session.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { own } from '../../ui/own.ts'
import { formatCount } from '../../ui/text/format.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { askedText, inputText, isSaidByHead, lastLine, planOf } from '../../words/tool-summary.logic.ts'

interface ToolBodyProps {
  item: ToolItem
  /** Text that the line of the call shows already. */
  head: string
  hasEdits: boolean
  hasSteps: boolean
  /** All of a long output, as for who looks for a word in it. */
  whole: boolean
}

/** Input and output of a call. A diff shows both already, unless it failed. */
export function ToolBody(props: ToolBodyProps) {
  const { item, head, hasEdits, hasSteps, whole } = props
  const written = useLiveText(item.id)
  const { showOutput } = useSessionActions()
  const output = useSession(({ extras }) => own(extras.output, item.id))
  const result = item.content ?? output ?? null
  const asked = askedText(item)
  const before = asked === '' ? null : <Part label="Asked for" text={asked} />
  if (hasEdits && item.status !== 'failed') return before
  const facts = factsOf(item)
  const { questions } = facts
  if (questions && item.status === 'done') return <Answered item={item} questions={questions} />
  const plan = planOf(item)
  const input = inputText(item) || (written ?? '')
  const cut = facts.kind === 'execute' && item.content !== null ? outputCut(item.content) : undefined
  if (plan !== undefined) return <Plan plan={plan} item={item} />
  return (
    <>
      {before}
      {hasEdits || hasSteps ? null : <Part label="Input" text={input} skipped={isSaidByHead(input, head)} />}
      {isCutShort(item, output) ? (
        <Part label="Printed before" text={output ?? ''} ansi whole={whole} skipped />
      ) : null}
      {result === null ? null : (
        <Part
          label={item.content === null ? 'Output so far' : 'Result'}
          text={result}
          whole={whole}
          {...(facts.kind === 'execute' && showOutput ? { onOpen: () => showOutput(item.id) } : {})}
          {...(cut === undefined ? {} : { note: `shortened by the agent: ${cut}` })}
          {...(hasSteps || isAgentCall(item) ? { markdown: true } : { ansi: true })}
        />
      )}
    </>
  )
}

/** Questions of the agent and the answers to them. */
function Answered({ item, questions }: { item: ToolItem; questions: readonly Question[] }) {
  return (
    <dl className="tool__answers">
      {questions.map(question => (
        <div key={question.name}>
          <dt>{question.name}</dt>
          <dd>
            {answersOf({ ...item, facts: { ...factsOf(item), questions: [question] } })[0] ?? 'No answer'}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** The plan as it was read, and below it what came of it where that is more than a yes. */
function Plan({ plan, item }: { plan: string; item: ToolItem }) {
  return (
    <>
      <Part label="Plan" text={plan} markdown />
      {item.status === 'failed' && item.content ? <Part label="Answer" text={item.content} /> : null}
    </>
  )
}

/** Whether a stopped call printed more than its result holds. */
export function isCutShort({ status, content }: ToolItem, output: string | undefined): boolean {
  if (output === undefined || content === null || status === 'done') return false
  const line = lastLine(output)
  return line !== '' && !content.includes(line)
}

/** Another agent was asked, and answers as agents do. */
function isAgentCall(item: ToolItem): boolean {
  return factsOf(item).kind === 'task'
}

interface PartProps {
  label: string
  text: string
  ansi?: boolean
  markdown?: boolean
  whole?: boolean
  /** A search does not look into it: it is said elsewhere. */
  skipped?: boolean
  /** Note beside the text. */
  note?: string
  /** Shows it on a page of its own. */
  onOpen?: () => void
}

function Part(props: PartProps) {
  const { label, text, ansi = false, markdown = false, whole = false, skipped = false, note, onOpen } = props
  const [isUnfolded, setUnfolded] = useState(false)
  const all = isUnfolded || whole
  if (text === '') return <p className="tool__label">{`${label}: empty`}</p>
  return (
    <div className="tool__part" data-find={skipped ? 'skip' : undefined}>
      <p className="tool__label">
        {label}
        {note ? <span className="tool__cut truncate">{note}</span> : null}
        {ansi && text.length > MAX_ANSI_CHARS && !all ? (
          <Button look="quiet" size="small" onClick={() => setUnfolded(true)}>
            {`Show all ${formatCount(text.length)} characters`}
          </Button>
        ) : null}
        <span className="spacer" />
        {onOpen ? <IconButton icon="expand" label="Show all of the output" onClick={onOpen} /> : null}
        <CopyButton text={text} label={`Copy ${label.toLowerCase()}`} />
      </p>
      <ScrollRegion
        role="group"
        className={markdown ? 'tool__text tool__text--prose' : 'tool__text'}
        label={label}
      >
        {markdown ? (
          <Markdown text={text} />
        ) : (
          <pre>{ansi ? <Ansi text={text} {...(all ? { maxChars: text.length } : {})} /> : text}</pre>
        )}
      </ScrollRegion>
    </div>
  )
}
