import {
  costText,
  type Envelope,
  foldSummary,
  formatDuration,
  newSummary,
  reduceSession,
  type SessionItem,
  type SessionState,
  stateAfter,
  type ToolItem,
  type TurnState,
} from '@chirality/core'
import type { StoredSession } from '../../store/stored-session.ts'
import { toolArgument, toolDiff, toolInput, toolTold } from '../tool-facts.ts'
import { fenced, inertMarkdown, inlineCode, plainLine } from './inert-markdown.ts'
import type { SessionContents } from './redacted-log.ts'

/** A readable transcript. Holds one turn in memory at a time. */
export async function* exportMarkdown({ session, batches }: SessionContents): AsyncGenerator<string> {
  yield heading(session)
  let turns = 0
  let held: Envelope[] = []
  let before = newSummary(session.id)
  const take = () => {
    const state = reduceSession(stateAfter(before), held)
    before = foldSummary(before, held)
    held = []
    return turnText(state, turns)
  }
  for await (const batch of batches) {
    for (const envelope of batch) {
      if (envelope.event.type === 'turn:start' && held.length > 0) {
        yield take()
      }
      if (envelope.event.type === 'turn:start') turns += 1
      held.push(envelope)
    }
  }
  if (held.length > 0) yield take()
}

function heading(session: StoredSession): string {
  const facts = [
    `Session \`${session.id}\``,
    session.harness && [session.harness, session.model].filter(Boolean).join(' · '),
    session.persona && `Persona ${session.persona}`,
    `${utc(session.createdAt)} to ${utc(session.updatedAt)}`,
    [
      `${session.turnCount} ${session.turnCount === 1 ? 'turn' : 'turns'}`,
      spent(session.costUsd, session.costIsEstimate),
    ]
      .filter(Boolean)
      .join(' · '),
  ]
  const list = facts.filter(Boolean).map(fact => `- ${fact}\n`)
  return `# ${plainLine(session.title ?? 'Untitled session')}\n\n${list.join('')}`
}

function turnText(state: SessionState, number: number): string {
  const [turn] = state.turns
  const title = turn === undefined ? '' : `\n## Turn ${number} · ${utc(turn.startedAt)}\n`
  const items = state.items.map(item => `\n${itemText(item)}`).join('')
  return `${title}${items}${turn === undefined ? '' : `\n${turnEnd(turn)}`}`
}

function turnEnd({ startedAt, endedAt, reason, costUsd, costIsEstimate }: TurnState): string {
  const facts = [
    reason ?? 'not ended',
    endedAt && formatDuration(Date.parse(endedAt) - Date.parse(startedAt)),
    spent(costUsd, costIsEstimate),
  ]
  return `*${facts.filter(Boolean).join(' · ')}*\n`
}

function itemText(item: SessionItem): string {
  switch (item.kind) {
    case 'user':
      return `${quoted(inertMarkdown(item.text))}\n`
    case 'text':
      return `${inertMarkdown(item.text)}\n${item.aborted ? '\n*Cut short.*\n' : ''}`
    case 'thinking':
      return `*Thinking*\n\n${quoted(inertMarkdown(item.text))}\n`
    case 'tool':
      return toolText(item)
    case 'notice':
    case 'budget':
      return `*${plainLine(item.message)}*\n`
    case 'error':
      return `**Error** ${plainLine(item.message)}\n`
    case 'gap':
      return `*${item.missing} events are missing here: ${plainLine(item.reason)}*\n`
  }
}

function toolText(item: ToolItem): string {
  const { verb, notes, isUndone } = toolTold(item)
  const facts = [
    `**${plainLine(verb)}**`,
    inlineCode(toolArgument(item)),
    item.durationMs !== null && `· ${formatDuration(item.durationMs)}`,
    ...notes.map(note => `· ${plainLine(note)}`),
  ]
  const diff = toolDiff(item)
  const input = toolInput(item)
  const blocks = [
    `${facts.filter(Boolean).join(' ')}\n`,
    diff && isUndone ? '*Asked for, did not happen:*\n' : '',
    diff ? fenced(diff.join('\n'), isUndone ? '' : 'diff') : input && fenced(input, 'json'),
    item.asked ? `*Asked for:*\n\n${fenced(JSON.stringify(item.asked.input, null, 2), 'json')}` : '',
    item.content ? fenced(item.content) : '',
  ]
  return blocks.filter(Boolean).join('\n')
}

function quoted(text: string): string {
  return text
    .split('\n')
    .map(line => (line === '' ? '>' : `> ${line}`))
    .join('\n')
}

/** UTC, so that the text does not depend on the reader's time zone. */
function utc(time: string): string {
  return `${time.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length).replace('T', ' ')} UTC`
}

function spent(usd: number | null, isEstimate: boolean): string | undefined {
  return costText({ usd, isEstimate })
}
