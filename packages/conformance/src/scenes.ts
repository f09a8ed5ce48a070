import { stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  ACP_ID_PREFIX,
  type HarnessTurnOpts,
  type Session,
  type UIEvent,
  type UIEventType,
} from '@chirality/core'
import type { BehaviourId } from './behaviours.ts'
import type { Finding, Outcome } from './report.ts'
import type { Stage } from './stage.ts'

/** Plays one conversation, and says what it showed. Several behaviours can show in one. */
export interface Scene {
  behaviours: readonly BehaviourId[]
  play(stage: Stage, cast: Cast): Promise<Finding[]>
}

/** What later scenes need of earlier ones. */
export interface Cast {
  /** One conversation for all scenes: an agent of its own for each would take most of the time. */
  session: Session
}

/** Without the first no other is worth playing. */
export const SCENES: readonly [Scene, ...Scene[]] = [
  { behaviours: ['text', 'streaming', 'instructions', 'usage'], play: answer },
  { behaviours: ['deny'], play: deny },
  { behaviours: ['allow', 'command'], play: allow },
  { behaviours: ['steering'], play: steer },
  { behaviours: ['interrupt'], play: interrupt },
  { behaviours: ['interrupt-command'], play: interruptCommand },
  { behaviours: ['errors'], play: modelError },
  { behaviours: ['leftovers'], play: leaveNothing },
  { behaviours: ['close', 'resume'], play: resume },
  { behaviours: ['exit'], play: exitCode },
]

const ALLOW: HarnessTurnOpts = { decide: async () => ({ behavior: 'allow' }) }

async function answer(stage: Stage, { session }: Cast): Promise<Finding[]> {
  const text = 'one two three four'
  stage.model.continueWith({ text, chunkChars: 4, usage: { input: 1234, output: 56 } })
  const { supportsAppendSystemPrompt, supportsStreamingTokens } = stage.harness.capabilities()
  const events = await stage.begin(session, 'Remember the word zebra.', {
    ...(supportsAppendSystemPrompt ? { systemPromptAppend: 'Walk like a heron.' } : {}),
  })
  const said = of(events, 'chat:complete').map(complete => complete.text)
  const ended = endOf(events)
  const ok = ended === 'completed' && said.at(-1)?.trim() === text
  const deltas = of(events, 'chat:delta').length
  const { usage, costUsd } = of(events, 'session:complete')[0] ?? {}
  const cost = costUsd === undefined ? '' : `, ${costUsd.toFixed(4)} USD`
  return [
    ok
      ? found('text', 'supported', 'The answer came whole, and the turn was completed.')
      : found('text', 'missing', stage.withoutPaths(failure(events, said))),
    deltas > 1
      ? found('streaming', 'supported', `${deltas} pieces.`)
      : found('streaming', supportsStreamingTokens ? 'missing' : 'not-offered', 'It came in one piece.'),
    supportsAppendSystemPrompt
      ? found(
          'instructions',
          stage.lastRequest().includes('like a heron') ? 'supported' : 'missing',
          stage.lastRequest().includes('like a heron')
            ? 'They are in the request to the model.'
            : 'The request to the model does not have them.',
        )
      : found('instructions', 'not-offered', 'It takes none.'),
    usage && usage.input_tokens > 0
      ? found('usage', 'supported', `${usage.input_tokens} in, ${usage.output_tokens} out${cost}.`)
      : found('usage', 'missing', 'The turn names no tokens.'),
  ]
}

async function deny(stage: Stage, { session }: Cast): Promise<Finding[]> {
  if (!stage.harness.capabilities().supportsDecisions)
    return [found('deny', 'not-offered', 'It asks nobody.')]
  const command = stage.command('touch denied.txt')
  if (typeof command === 'string') return [found('deny', 'missing', command)]
  stage.model.continueWith({ blocks: [{ text: 'I try.' }, command] }, 'So be it.')
  const events = await stage.begin(session, 'Make the file denied.txt.', {
    decide: async () => ({ behavior: 'deny', message: 'Not now.' }),
  })
  const ran = stage.hasFile('denied.txt')
  const asked = askedAbout(events)
  if (asked === undefined && !ran && stage.askPlainly()) return deny(stage, { session })
  if (asked === undefined)
    return [
      found('deny', ran ? 'missing' : 'differs', ran ? 'It ran the command unasked.' : refusedItself(events)),
    ]
  if (ran) return [found('deny', 'missing', 'It was denied, and ran the command anyway.')]
  const end = endOf(events)
  return end === 'completed'
    ? [found('deny', 'supported', `Asked about ${asked}, and obeyed.`)]
    : [found('deny', 'differs', `Asked about ${asked} and obeyed, but the turn ends as ${end}.`)]
}

async function allow(stage: Stage, { session }: Cast): Promise<Finding[]> {
  const command = stage.command('touch allowed.txt && echo heard-of-the-tool')
  if (typeof command === 'string')
    return [found('allow', 'missing', command), found('command', 'missing', command)]
  stage.model.continueWith({ blocks: [command] }, 'Done.')
  const { supportsDecisions } = stage.harness.capabilities()
  const opts = supportsDecisions ? ALLOW : FREE
  const events = await stage.begin(session, 'Make the file allowed.txt.', opts)
  const ran = stage.hasFile('allowed.txt')
  const asked = askedAbout(events)
  const shown = of(events, 'tool:result').some(
    ({ isError, content }) => !isError && content.includes('heard-of-the-tool'),
  )
  const told = stage.lastRequest().includes('heard-of-the-tool')
  const seen = shown ? 'The result is shown' : 'The result is not shown'
  return [
    supportsDecisions ? judged(ran, asked, events) : found('allow', 'not-offered', 'It asks nobody.'),
    ran && shown && told
      ? found('command', 'supported', `${toolName(events)} ran, and both sides have its result.`)
      : found(
          'command',
          ran ? 'differs' : 'missing',
          ran
            ? `${seen}, and the model ${told ? 'has it' : 'does not have it'}.`
            : stage.withoutPaths(failure(events, [])),
        ),
  ]
}

function judged(ran: boolean, asked: string | undefined, events: UIEvent[]): Finding {
  if (asked === undefined)
    return found('allow', 'differs', ran ? 'It ran the command unasked.' : refusedItself(events))
  return ran
    ? found('allow', 'supported', `Asked about ${asked}, and ran it.`)
    : found('allow', 'missing', `Asked about ${asked}, and did not run it.`)
}

async function steer(stage: Stage, { session }: Cast): Promise<Finding[]> {
  const { harness, model } = stage
  if (!harness.capabilities().supportsSteering || !harness.steer)
    return [found('steering', 'not-offered', 'A message waits for the next turn.')]
  model.continueWith({ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'And the walrus.')
  const turn = stage.begin(session, 'Count.')
  const stalled = await stage.before(turn, () => stage.isStalled())
  const taken = stalled && (await harness.steer(session.id, 'And the walrus?'))
  model.release()
  const events = await turn
  if (!stalled) return [found('steering', 'missing', stage.withoutPaths(failure(events, [])))]
  if (!taken) return [found('steering', 'missing', 'The message was not taken.')]
  return stage.lastRequest().includes('walrus')
    ? [found('steering', 'supported', 'The model got the message in the same turn.')]
    : [found('steering', 'missing', 'It took the message, and the model did not get it.')]
}

async function interrupt(stage: Stage, { session }: Cast): Promise<Finding[]> {
  const { harness, model } = stage
  model.continueWith({ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'Back again.')
  const turn = stage.begin(session, 'Count.')
  const stalled = await stage.before(turn, () => stage.isStalled())
  const since = Date.now()
  harness.interrupt(session.id)
  const events = await turn
  const took = `${((Date.now() - since) / 1000).toFixed(1)} s`
  model.release()
  if (!stalled) return [found('interrupt', 'missing', stage.withoutPaths(failure(events, [])))]
  const end = endOf(events)
  if (end !== 'interrupted')
    return [found('interrupt', 'differs', `The turn ends as ${end}, not as interrupted, after ${took}.`)]
  model.continueWith('Back again.')
  const next = await stage.begin(session, 'Go on.')
  return endOf(next) === 'completed'
    ? [found('interrupt', 'supported', `Stopped in ${took}, and answered the next message.`)]
    : [
        found(
          'interrupt',
          'differs',
          `Stopped in ${took}; the next turn: ${stage.withoutPaths(failure(next, []))}`,
        ),
      ]
}

async function interruptCommand(stage: Stage, { session }: Cast): Promise<Finding[]> {
  const id = 'interrupt-command'
  // It beats as long as it runs: a pid would be one of the sandbox's own.
  const command = stage.command(`sh -c 'while :; do echo x >> beat.txt; sleep 0.2; done'`)
  if (typeof command === 'string') return [found(id, 'missing', command)]
  stage.model.continueWith({ blocks: [command] }, 'Never said.')
  const turn = stage.begin(session, 'Wait.', stage.harness.capabilities().supportsDecisions ? ALLOW : FREE)
  const started = await stage.before(turn, () => stage.hasFile('beat.txt'))
  stage.harness.interrupt(session.id)
  const events = await turn
  if (!started)
    return [found(id, 'missing', `The command did not start: ${stage.withoutPaths(failure(events, []))}`)]
  const beat = path.join(stage.project, 'beat.txt')
  let runs = await grows(beat)
  for (let waited = 0; runs && waited < GRACE_MS; waited += BEAT_MS) runs = await grows(beat)
  if (runs) await stage.harness.kill(session.id)
  if (runs) return [found(id, 'missing', `The command still runs ${GRACE_MS / 1000} s after the stop.`)]
  const end = endOf(events)
  return end === 'interrupted'
    ? [found(id, 'supported', 'The command ended with the turn.')]
    : [found(id, 'differs', `The command ended, but the turn ends as ${end}.`)]
}

async function modelError(stage: Stage, { session }: Cast): Promise<Finding[]> {
  stage.model.continueWith({ error: { status: 400, message: 'the trial refuses this' }, times: 50 })
  const events = await stage.begin(session, 'Hello.')
  stage.model.continueWith()
  const error = of(events, 'session:error').find(({ recovered }) => !recovered)
  const end = endOf(events)
  if (error && end === 'failed') {
    const named = error.error.includes('the trial refuses this')
    return [
      found(
        'errors',
        named ? 'supported' : 'differs',
        named ? `${error.code}, with its words.` : clip(error.error),
      ),
    ]
  }
  const answered = of(events, 'chat:complete').some(({ text }) => text.includes('the trial refuses this'))
  return [found('errors', 'differs', answered ? 'The error comes as an answer.' : `The turn ends as ${end}.`)]
}

async function leaveNothing(stage: Stage, { session }: Cast): Promise<Finding[]> {
  const command = stage.command(`sh -c 'sleep 600 & touch started.txt; sleep 600'`)
  if (typeof command === 'string') return [found('leftovers', 'missing', command)]
  stage.model.continueWith({ blocks: [command] }, 'Never said.')
  const turn = stage.begin(session, 'Wait.', stage.harness.capabilities().supportsDecisions ? ALLOW : FREE)
  const started = await stage.before(turn, () => stage.hasFile('started.txt'))
  await stage.harness.kill(session.id)
  const events = await turn
  if (!started)
    return [
      found('leftovers', 'missing', `The command did not start: ${stage.withoutPaths(failure(events, []))}`),
    ]
  await stage.harness.close()
  const left = await stage.leftovers()
  return left.length === 0
    ? [found('leftovers', 'supported', 'The agent, its command and what that started are gone.')]
    : [found('leftovers', 'missing', `${left.length} still ${left.length === 1 ? 'runs' : 'run'}.`)]
}

async function resume(stage: Stage, { session }: Cast): Promise<Finding[]> {
  await stage.open()
  const since = Date.now()
  const { supportsResume } = stage.harness.capabilities()
  if (!supportsResume) return [await closes(stage), found('resume', 'not-offered', 'It has no way to.')]
  stage.model.continueWith('The second time.')
  const events = await stage.begin(session, 'What was the word?')
  const lost = of(events, 'status').some(({ status }) => status === 'resume_failed')
  const remembers = stage.lastRequest().includes('zebra')
  const resumed = (() => {
    if (endOf(events) !== 'completed')
      return found('resume', 'missing', stage.withoutPaths(failure(events, [])))
    if (remembers && !lost)
      return found(
        'resume',
        'supported',
        `Answered in ${((Date.now() - since) / 1000).toFixed(1)} s, and remembers.`,
      )
    return found('resume', 'missing', 'The conversation began anew.')
  })()
  return [await closes(stage), resumed]
}

async function closes(stage: Stage): Promise<Finding> {
  const since = Date.now()
  await stage.harness.close()
  const left = await stage.leftovers()
  const took = `${((Date.now() - since) / 1000).toFixed(1)} s`
  return left.length === 0
    ? found('close', 'supported', `Gone in ${took}.`)
    : found('close', 'missing', `${left.length} still ${left.length === 1 ? 'runs' : 'run'} after ${took}.`)
}

async function exitCode(stage: Stage): Promise<Finding[]> {
  if (stage.harness.id.startsWith(ACP_ID_PREFIX))
    return [found('exit', 'not-offered', 'The protocol has no process for a single turn.')]
  await stage.open({ keepAlive: false })
  stage.model.continueWith('Only this.')
  const events = await stage.begin(stage.session(), 'Hello.')
  const [exit] = of(events, 'process:exit')
  if (endOf(events) !== 'completed')
    return [found('exit', 'missing', stage.withoutPaths(failure(events, [])))]
  if (!exit) return [found('exit', 'not-offered', 'No turn has a process of its own.')]
  const how = exit.signal === null ? `Exits with ${exit.code}.` : `Ended by ${exit.signal}.`
  return [found('exit', exit.code === 0 ? 'supported' : 'differs', how)]
}

/** For an agent that asks nobody. */
const FREE: HarnessTurnOpts = { permissionMode: 'bypassPermissions' }

/** An agent may take a moment to end what it started. */
const GRACE_MS = 20_000

async function grows(file: string): Promise<boolean> {
  const { size } = await stat(file)
  await pause(BEAT_MS)
  return (await stat(file)).size > size
}

const BEAT_MS = 1_000

function found(behaviour: BehaviourId, outcome: Outcome, evidence: string): Finding {
  return { behaviour, outcome, evidence: clip(evidence) }
}

/** Why a turn did not go as it should. */
function failure(events: UIEvent[], said: string[]): string {
  const error = of(events, 'session:error').at(-1)
  if (error) return error.error
  if (endOf(events) === 'timeout') return 'It took too long.'
  const denied = of(events, 'tool:result').find(({ isError }) => isError)
  if (denied) return denied.content
  return said.length > 0
    ? `It said: ${said.join(' ')}`
    : `The turn ends as ${endOf(events)} without an answer.`
}

function refusedItself(events: UIEvent[]): string {
  const denied = of(events, 'tool:result').find(({ isError }) => isError)
  return `Nobody was asked, and it did not run: ${denied?.content ?? failure(events, [])}`
}

function askedAbout(events: UIEvent[]): string | undefined {
  return of(events, 'permission:request')[0]?.toolName
}

function toolName(events: UIEvent[]): string {
  return of(events, 'tool:start')[0]?.name ?? 'The command'
}

function endOf(events: UIEvent[]): string {
  return of(events, 'turn:end')[0]?.reason ?? 'nothing'
}

function of<T extends UIEventType>(events: UIEvent[], type: T): Extract<UIEvent, { type: T }>[] {
  return events.filter((event): event is Extract<UIEvent, { type: T }> => event.type === type)
}

/** One line of an agent's words. */
export function clip(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what has to go.
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  return line.length <= MAX_EVIDENCE ? line : `${line.slice(0, MAX_EVIDENCE - 1)}…`
}

const MAX_EVIDENCE = 160
