import type { UIEvent, UIEventType } from '@chirality/core'
import type { BehaviourId } from './behaviours.ts'
import type { Finding, Outcome } from './report.ts'

export function found(behaviour: BehaviourId, outcome: Outcome, evidence: string): Finding {
  return { behaviour, outcome, evidence: clip(evidence) }
}

/** Evidence for a failed start, uncut: without its reason it cannot be mended. */
export function failed(behaviour: BehaviourId, events: UIEvent[], said: string[] = []): Finding {
  return { behaviour, outcome: 'missing', evidence: oneLine(failure(events, said)) }
}

/** Why a turn did not go as expected. */
export function failure(events: UIEvent[], said: string[] = []): string {
  if (endOf(events) === 'timeout' && hasSpoken(events)) return NO_END
  const error = of(events, 'session:error').at(-1)
  if (error) return reasonFirst(error.error)
  if (endOf(events) === 'timeout') return 'It took too long.'
  if (of(events, 'native:unknown').some(({ raw }) => isSpeech(raw)))
    return 'It answers in another session than it was asked in.'
  const denied = of(events, 'tool:result').find(({ isError }) => isError)
  if (denied) return denied.content
  return said.some(words => words.trim() !== '')
    ? `It said: ${said.join(' ')}`
    : `The turn ends as ${endOf(events)} without an answer.`
}

/** A known message that is not shown because it names another session. */
function isSpeech(raw: unknown): boolean {
  const { params } = (raw ?? {}) as { params?: { update?: { sessionUpdate?: unknown } } }
  return params?.update?.sessionUpdate === 'agent_message_chunk'
}

const NO_END = 'It answers, and does not end its turn: it took too long.'

function hasSpoken(events: UIEvent[]): boolean {
  return events.some(({ type }) => type === 'chat:message' || type === 'chat:delta')
}

/** Puts the agent's own words before those of Chirality. */
export function reasonFirst(text: string): string {
  const at = text.indexOf(SAID)
  if (at <= 0) return text
  const words = text.slice(at + SAID.length).trim()
  return words === '' ? text : `${words} (${text.slice(0, at).trim()})`
}

const SAID = ' It said: '

/** Describes wrong pieces of an answer. Undefined if they join to the text. */
export function wrongPieces(pieces: string[], text: string): string | undefined {
  const joined = pieces.join('').trim()
  if (joined === text) return undefined
  const shown = `joined they are ${JSON.stringify(joined)}`
  if (isTwice(pieces, text)) return `Each piece comes twice: ${shown}.`
  if ([...joined].sort().join('') === [...text].sort().join(''))
    return `The pieces are out of order: ${shown}.`
  if (joined.length < text.length) return `Pieces are lost: ${shown}.`
  return `The pieces are not the answer: ${shown}.`
}

/** True if the text, or each of its pieces, comes twice. */
export function isTwice(pieces: string[], text: string): boolean {
  const evens = pieces.filter((_, i) => i % 2 === 0)
  const odds = pieces.filter((_, i) => i % 2 === 1)
  const inPairs = evens.join('').trim() === text && odds.join('').trim() === text
  return inPairs || pieces.join('').replace(/\s/g, '') === `${text}${text}`.replace(/\s/g, '')
}

export function refusedItself(events: UIEvent[]): string {
  const denied = of(events, 'tool:result').find(({ isError }) => isError)
  return `Nobody was asked, and it did not run: ${denied?.content ?? failure(events)}`
}

export function askedAbout(events: UIEvent[]): string | undefined {
  return of(events, 'permission:request')[0]?.toolName
}

export function toolName(events: UIEvent[]): string {
  return of(events, 'tool:start')[0]?.name ?? 'The command'
}

export function endOf(events: UIEvent[]): string {
  return of(events, 'turn:end')[0]?.reason ?? 'nothing'
}

/** Messages that the agent reported as read. */
export function readMessages(events: UIEvent[]): string[] {
  return of(events, 'status').flatMap(({ data }) =>
    data?.kind === 'user_message' ? [String(data.text).trim()] : [],
  )
}

export function of<T extends UIEventType>(events: UIEvent[], type: T): Extract<UIEvent, { type: T }>[] {
  return events.filter((event): event is Extract<UIEvent, { type: T }> => event.type === type)
}

/** Shortens an agent's words to one line. */
export function clip(text: string): string {
  const line = oneLine(text)
  return line.length <= MAX_EVIDENCE ? line : `${line.slice(0, MAX_EVIDENCE - 1)}…`
}

export function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what has to go.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
}

const MAX_EVIDENCE = 240
