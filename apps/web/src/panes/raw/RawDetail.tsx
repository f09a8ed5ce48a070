import type { ReactNode } from 'react'
import { Button } from '../../ui/controls/Button.tsx'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { formatBytes } from './format-bytes.ts'
import type { EventItem, LineItem } from './raw-item.ts'
import type { Chosen } from './use-chosen.ts'
import { useWholeLine } from './use-whole-line.ts'

/** What was chosen in full, and beside it what it came from or became. */
export function RawDetail({ chosen, onClose }: { chosen: Chosen; onClose(): void }) {
  const { event, line } = chosen
  return (
    <div className="raw__detail">
      <div className="raw__relation">
        <span role="status">{relationText(chosen)}</span>
        <IconButton icon="close" label="Close the details" onClick={onClose} />
      </div>
      <div className={chosen.side === 'lines' ? 'raw__pair raw__pair--lines' : 'raw__pair'}>
        {event ? <EventJson item={event} /> : null}
        {line ? <LineText item={line} /> : null}
      </div>
    </div>
  )
}

function relationText({ side, relation, line, event }: Chosen): string {
  if (relation === 'searching') return 'Looking for the other side…'
  if (relation === 'same') return 'The event came from this line.'
  if (relation === 'failed') return 'The other side could not be read.'
  if (side === 'events')
    return line
      ? 'No line says this by itself; the one before it is shown.'
      : 'There is no native line for it.'
  return event ? 'No event came from this line; the one before it is shown.' : 'There is no event for it.'
}

function EventJson({ item: { envelope } }: { item: EventItem }) {
  const text = JSON.stringify(envelope.event, null, 2)
  const label = `UI event ${envelope.seq}`
  return (
    <Part kind="JSON" label={label} name={label} text={text} copy={text} facts={envelope.at.slice(11, 23)} />
  )
}

function LineText({ item: { line, value, type } }: { item: LineItem }) {
  const { bytes, torn, offset, spool } = line
  const whole = useWholeLine(line)
  const json = whole.isWhole ? (value ?? parsed(whole.text)) : undefined
  const facts = [
    formatBytes(bytes),
    !whole.isWhole && `the first ${formatBytes(whole.text.length)} are shown`,
    torn && 'not finished',
    whole.problem,
  ].filter(Boolean)
  return (
    <Part
      kind={json === undefined ? 'text' : 'JSON'}
      label={`Native ${type}`}
      name="Native line"
      text={json === undefined ? whole.text : JSON.stringify(json, null, 2)}
      copy={whole.text}
      facts={facts.join(' · ')}
      place={`${spool} at byte ${offset}`}
    >
      {whole.isWhole ? null : (
        <Button size="small" disabled={whole.isReading} onClick={whole.readOn}>
          {whole.isReading ? 'Reading…' : 'Show more'}
        </Button>
      )}
    </Part>
  )
}

/** Only what can be laid out in a moment. */
function parsed(text: string): unknown {
  if (text.length > MAX_LAID_OUT_CHARS) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const MAX_LAID_OUT_CHARS = 1024 * 1024

interface PartProps {
  kind: 'JSON' | 'text'
  label: string
  name: string
  text: string
  /** As it was printed, not as it is laid out here. */
  copy: string
  facts: string
  place?: string
  children?: ReactNode
}

function Part({ kind, label, name, text, copy, facts, place, children }: PartProps) {
  return (
    <div className="raw__json">
      <p className="raw__label" title={place}>
        <span className="truncate">{label}</span>
        <span className="number raw__facts truncate">{facts}</span>
        {children}
        <CopyButton text={copy} label={`Copy ${name}`} />
      </p>
      <ScrollRegion className="raw__text" label={`${name} as ${kind}`}>
        <pre>{text}</pre>
      </ScrollRegion>
    </div>
  )
}
