import { problemLines, type RehearsedRequest, rehearsePolicy, SessionStore } from '@chirality/sessions'
import { EXIT } from '../../exit-code.ts'
import { tell } from '../../output.ts'
import { plain, type Style, style, wantsColour } from '../../render/style.ts'
import { allSources, type PolicyRequest } from './sources.ts'

/** The decisions of the rules about past requests, if they differ from what happened. */
export async function rehearse(request: PolicyRequest): Promise<number> {
  const { project, draft, policies, json, output } = request
  const broken = (await allSources(request)).filter(({ problems }) => problems.length > 0)
  for (const problem of broken.flatMap(problemLines)) await tell(`chirality: ${plain(problem)}\n`)
  if (broken.length > 0) return EXIT.usage
  const totals = new Totals()
  const unreadable: string[] = []
  const paint = style(wantsColour(output.isTerminal))
  const rehearsed = rehearsePolicy(project, {
    store: new SessionStore(),
    policies,
    ...(draft === undefined ? {} : { edited: policies.draft(draft) }),
    onUnreadable: (sessionId, error) =>
      unreadable.push(`${sessionId}: ${error instanceof Error ? error.message : error}`),
  })
  for await (const each of rehearsed) {
    totals.add(each)
    if (!each.differs) continue
    const { differs: _differs, ...change } = each
    if (
      !(await output.write(json ? `${JSON.stringify({ kind: 'change', ...change })}\n` : text(each, paint)))
    )
      break
  }
  for (const session of unreadable) await tell(`chirality: Left out ${plain(session)}\n`)
  await output.write(json ? `${JSON.stringify({ kind: 'total', ...totals.counts })}\n` : totals.text())
  return EXIT.done
}

class Totals {
  readonly counts = { requests: 0, sessions: 0, changes: 0, allow: 0, ask: 0, deny: 0 }
  #lastSession: string | undefined

  /** Sessions come one after the other. */
  add({ sessionId, wouldBe, differs }: RehearsedRequest): void {
    if (sessionId !== this.#lastSession) this.counts.sessions += 1
    this.#lastSession = sessionId
    this.counts.requests += 1
    this.counts[wouldBe.effect] += 1
    if (differs) this.counts.changes += 1
  }

  text(): string {
    const { requests, sessions, changes, allow, ask, deny } = this.counts
    if (requests === 0) return 'No agent has asked for anything in this project yet.\n'
    return (
      `${changes} of ${count(requests, 'request')} in ${count(sessions, 'session')} would change. ` +
      `In all: ${allow} allowed, ${ask} asked, ${deny} denied.\n`
    )
  }
}

function text(change: RehearsedRequest, paint: Style): string {
  const { sessionId, at, toolName, argument, always, was, wouldBe } = change
  const when = at.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length).replace('T', ' ')
  const past = was.by === undefined ? 'not answered' : `${was.outcome} by ${PAST_NAMES[was.by]}`
  const rule = wouldBe.rule === undefined ? 'no rule' : wouldBe.rule
  return (
    `${paint.dim(`${when}  ${sessionId}`)}  ${plain(toolName)}  ${oneLine(argument)}\n` +
    `    ${past} → ${paint.bold(FUTURE_NAMES[wouldBe.effect])}  ${paint.dim(oneLine(rule))}\n` +
    (wouldBe.effect === 'ask' && always
      ? `    ${paint.dim(`"Always" would write: ${oneLine(always)}`)}\n`
      : '')
  )
}

const PAST_NAMES = {
  person: 'a person',
  policy: 'a policy',
  timeout: 'the timeout',
  agent: 'the agent',
  'turn-end': 'the end of the turn',
  failure: 'a failure',
}
const FUTURE_NAMES = { allow: 'allow', ask: 'ask a person', deny: 'deny' }
const MAX_LINE_CHARS = 200

function oneLine(value: string): string {
  const line = plain(value).replace(/\s+/g, ' ')
  return line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}…` : line
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`
}
