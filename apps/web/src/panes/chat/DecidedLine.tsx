import type { Decided } from '../../state/session/session-extras.ts'
import { useSession } from '../../state/session/use-session.ts'

/** Who allowed a call or did not, and by which rule. */
export function DecidedLine({ toolUseId }: { toolUseId: string }) {
  const decided = useSession(({ extras }) => extras.decisions.findLast(one => one.toolUseId === toolUseId))
  if (decided === undefined || decided.by === 'nobody') return null
  return <p className="tool__label">{wordsOf(decided)}</p>
}

const WHO: Readonly<Record<string, string>> = {
  person: 'by you',
  policy: 'by a rule',
  timeout: 'because nobody answered',
  agent: 'by the agent itself',
  'turn-end': 'with the end of the turn',
  failure: 'because no answer could be had',
}

function wordsOf({ outcome, by, rule, message }: Decided): string {
  const how = outcome === 'allowed' ? 'Allowed' : outcome === 'denied' ? 'Denied' : 'Taken back'
  return [`${how} ${WHO[by] ?? ''}`.trim(), rule, message].filter(Boolean).join(': ')
}
