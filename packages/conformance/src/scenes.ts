import { stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ACP_ID_PREFIX, type HarnessTurnOpts, type Session, type UIEvent } from '@chirality/core'
import type { BehaviourId } from './behaviours.ts'
import {
  askedAbout,
  endOf,
  failed,
  failure,
  found,
  isTwice,
  of,
  readMessages,
  refusedItself,
  toolName,
  wrongPieces,
} from './judging.ts'
import { type Finding, seconds } from './report.ts'
import type { Stage } from './stage.ts'

/** A conversation that shows one or several behaviours. */
export interface Scene {
  behaviours: readonly BehaviourId[]
  play(stage: Stage, cast: Cast): Promise<Finding[]>
}

/** State that later scenes take from earlier ones. */
export interface Cast {
  /** One conversation for all scenes, because starting an agent for each would take most of the time. */
  session: Session
}

/** Scenes in order. If the first fails, no other is played. */
export const SCENES: readonly [Scene, ...Scene[]] = [
  { behaviours: ['text', 'streaming', 'instructions', 'usage'], play: answer },
  { behaviours: ['deny'], play: deny },
  { behaviours: ['allow', 'command', 'usage'], play: allow },
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
  stage.model.continueWith({ text, chunkChars: 4, usage: TOKENS })
  const { supportsAppendSystemPrompt, supportsStreamingTokens } = stage.harness.capabilities()
  const events = await stage.begin(session, 'Remember the word zebra.', {
    ...(supportsAppendSystemPrompt ? { systemPromptAppend: 'Walk like a heron.' } : {}),
  })
  const pieces = of(events, 'chat:delta').map(delta => delta.text)
  const wrong = wrongPieces(pieces, text)
  const hasThem = stage.lastRequest().includes('like a heron')
  const first = answered(events, pieces, text)
  return [
    first.outcome === 'supported' ? ((await cutAnswer(stage, session)) ?? first) : first,
    pieces.length > 1
      ? found('streaming', wrong ? 'differs' : 'supported', wrong ?? `${pieces.length} pieces.`)
      : found('streaming', supportsStreamingTokens ? 'missing' : 'not-offered', 'It came in one piece.'),
    supportsAppendSystemPrompt
      ? found(
          'instructions',
          hasThem ? 'supported' : 'missing',
          hasThem ? 'They are in the request to the model.' : 'The request to the model does not have them.',
        )
      : found('instructions', 'not-offered', 'It takes none.'),
    usageOf(events),
  ]
}

const TOKENS = { input: 1234, output: 56 }

/** Tests an answer that exceeds pipes and buffers of the agent. */
async function cutAnswer(stage: Stage, session: Session): Promise<Finding | undefined> {
  const text = Array.from({ length: LONG_WORDS }, (_, i) => `word${i}`).join(' ')
  stage.model.continueWith({ text, chunkChars: 4096 })
  const events = await stage.begin(session, 'Say it at length.')
  const said = of(events, 'chat:complete')
    .map(complete => complete.text)
    .join('')
    .trim()
  if (endOf(events) !== 'completed')
    return found('text', 'differs', `A long answer does not come: ${failure(events)}`)
  if (said === text) return undefined
  return found('text', 'differs', `A long answer is cut: ${said.length} of ${text.length} characters came.`)
}

const LONG_WORDS = 12_000

function answered(events: UIEvent[], pieces: string[], text: string): Finding {
  const said = of(events, 'chat:complete').map(complete => complete.text)
  if (endOf(events) !== 'completed' || said.length === 0) return failed('text', events, said)
  if (said.length === 1 && said[0]?.trim() === text)
    return found('text', 'supported', 'The answer came whole, and the turn was completed.')
  if (isTwice(pieces, text) || isTwice(said, text) || said.some(words => isTwice([words], text)))
    return found('text', 'differs', `The answer comes twice: ${said.join(' ')}`)
  // An agent that is not set up may answer with its own text in a turn that ends well; that is no answer of the model.
  return said.join(' ').includes('three')
    ? found('text', 'differs', `The answer is not what the model said: ${said.join(' ')}`)
    : failed('text', events, said)
}

function usageOf(events: UIEvent[]): Finding {
  const [{ usage, costUsd } = {}] = of(events, 'session:complete')
  if (!usage || usage.input_tokens + usage.output_tokens === 0)
    return found('usage', 'missing', 'The turn names no tokens.')
  const cost = costUsd === undefined ? '' : `, ${costUsd.toFixed(4)} USD`
  const told = `${usage.input_tokens} in, ${usage.output_tokens} out${cost}`
  return usage.input_tokens === TOKENS.input && usage.output_tokens === TOKENS.output
    ? found('usage', 'supported', `${told}.`)
    : found('usage', 'differs', `${told}; the model said ${TOKENS.input} in, ${TOKENS.output} out.`)
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
  // The output is a secret word that the command line lacks, so a request that has it has the result.
  const { file, word } = await stage.secret()
  const command = stage.command(`touch allowed.txt && cat ${file}`)
  if (typeof command === 'string')
    return [found('allow', 'missing', command), found('command', 'missing', command)]
  const [first, last] = CALLS
  stage.model.continueWith({ blocks: [command], usage: first }, { text: 'Done.', usage: last })
  const { supportsDecisions } = stage.harness.capabilities()
  const events = await stage.begin(session, 'Make the file allowed.txt.', supportsDecisions ? ALLOW : FREE)
  const ran = stage.hasFile('allowed.txt')
  const shown = of(events, 'tool:result').some(({ isError, content }) => !isError && content.includes(word))
  const told = stage.lastRequest().includes(word)
  return [
    supportsDecisions
      ? judged(ran, askedAbout(events), events)
      : found('allow', 'not-offered', 'It asks nobody.'),
    ran ? resultOf({ shown, told }, events) : failed('command', events),
    ...(ran ? sumOf(events) : []),
  ]
}

const CALLS = [
  { input: 2000, output: 30 },
  { input: 3000, output: 40 },
] as const

/** Reports a turn whose tokens are not the sum over its model calls. A turn without tokens was reported before. */
function sumOf(events: UIEvent[]): Finding[] {
  const [{ usage } = {}] = of(events, 'session:complete')
  const [first, last] = CALLS
  const [input, output] = [first.input + last.input, first.output + last.output]
  if (!usage || usage.input_tokens + usage.output_tokens === 0) return []
  if (usage.input_tokens === input && usage.output_tokens === output) return []
  const told = `${usage.input_tokens} in, ${usage.output_tokens} out`
  const isLast = usage.input_tokens === last.input && usage.output_tokens === last.output
  const what = isLast ? 'only those of the last one' : `not ${input} in, ${output} out`
  return [found('usage', 'differs', `Of a turn with two calls of the model it names ${told}: ${what}.`)]
}

function resultOf({ shown, told }: { shown: boolean; told: boolean }, events: UIEvent[]): Finding {
  const ids = of(events, 'tool:result').map(({ toolUseId }) => toolUseId)
  if (new Set(ids).size < ids.length)
    return found('command', 'differs', `The result of ${toolName(events)} is told twice.`)
  if (shown && told)
    return found('command', 'supported', `${toolName(events)} ran, and both sides have its result.`)
  const seen = shown ? 'The result is shown' : 'The result is not shown'
  return found('command', 'differs', `${seen}, and the model ${told ? 'has it' : 'does not have it'}.`)
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
  if (!stalled) return [failed('steering', events)]
  if (!taken) return [found('steering', 'missing', 'The message was not taken.')]
  if (!stage.lastRequest().includes('walrus'))
    return [found('steering', 'missing', 'It took the message, and the model did not get it.')]
  if (endOf(events) !== 'completed') return [failed('steering', events)]
  const wrong = await wrongInCommand(stage, session)
  return [
    wrong === undefined
      ? found('steering', 'supported', 'The model got a message as it wrote, and one as a command ran.')
      : found('steering', 'differs', `The model got a message as it wrote. As a command ran: ${wrong}`),
  ]
}

/** Describes the fault with a message that arrives while a command runs. */
async function wrongInCommand(stage: Stage, session: Session): Promise<string | undefined> {
  const command = stage.command('touch steered.txt; while [ ! -e go.txt ]; do sleep 0.05; done')
  if (typeof command === 'string') return command
  const { harness, model } = stage
  model.continueWith({ blocks: [command] }, 'And the otter.', 'And the otter again.')
  const turn = stage.begin(session, 'Wait.', stage.harness.capabilities().supportsDecisions ? ALLOW : FREE)
  const started = await stage.before(turn, () => stage.hasFile('steered.txt'))
  const message = 'And the otter?'
  const taken = started && (await harness.steer?.(session.id, message))
  await stage.write('go.txt')
  const events = await turn
  if (!started) return `it did not start: ${failure(events)}`
  if (!taken) return 'the message was not taken.'
  if (endOf(events) !== 'completed') return failure(events)
  if (!stage.lastRequest().includes(message)) return 'the model did not get it.'
  return readMessages(events).includes(message) ? undefined : 'it does not say that it read it.'
}

async function interrupt(stage: Stage, { session }: Cast): Promise<Finding[]> {
  const { harness, model } = stage
  model.continueWith({ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'Back again.')
  const turn = stage.begin(session, 'Count.')
  const stalled = await stage.before(turn, () => stage.isStalled())
  const since = Date.now()
  harness.interrupt(session.id)
  const events = await turn
  const took = seconds(Date.now() - since)
  const isGone = stage.isAgentGone()
  model.release()
  if (!stalled) return [failed('interrupt', events)]
  const end = endOf(events)
  if (end !== 'interrupted')
    return [found('interrupt', 'differs', `The turn ends as ${end}, not as interrupted, after ${took}.`)]
  model.continueWith('Back again.')
  const next = await stage.begin(session, 'Go on.')
  if (endOf(next) !== 'completed')
    return [found('interrupt', 'differs', `Stopped in ${took}; the next turn: ${failure(next)}`)]
  return isGone
    ? [found('interrupt', 'differs', `Ended by Chirality after ${took}: it did not stop when it was asked.`)]
    : [found('interrupt', 'supported', `Stopped in ${took}, and answered the next message.`)]
}

async function interruptCommand(stage: Stage, { session }: Cast): Promise<Finding[]> {
  const id = 'interrupt-command'
  // The command writes a heartbeat: its pid would be one inside the sandbox.
  const command = stage.command(`sh -c 'while :; do echo x >> beat.txt; sleep 0.2; done'`)
  if (typeof command === 'string') return [found(id, 'missing', command)]
  stage.model.continueWith({ blocks: [command] }, 'Never said.')
  const turn = stage.begin(session, 'Wait.', stage.harness.capabilities().supportsDecisions ? ALLOW : FREE)
  const started = await stage.before(turn, () => stage.hasFile('beat.txt'))
  const since = Date.now()
  stage.harness.interrupt(session.id)
  const events = await turn
  // An obedient agent may be ended all the same, because its children could continue.
  const isGone = stage.isAgentGone() && Date.now() - since >= PATIENCE_MS
  if (!started) return [found(id, 'missing', `The command did not start: ${failure(events)}`)]
  const beat = path.join(stage.project, 'beat.txt')
  let runs = await grows(beat)
  for (let waited = 0; runs && waited < GRACE_MS; waited += BEAT_MS) runs = await grows(beat)
  if (runs) await stage.harness.kill(session.id)
  if (runs) return [found(id, 'missing', `The command still runs ${GRACE_MS / 1000} s after the stop.`)]
  const end = endOf(events)
  if (isGone && end === 'interrupted')
    return [found(id, 'differs', 'Ended by Chirality, with the agent: it did not stop when it was asked.')]
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
        named ? `${error.code}, with its words.` : error.error,
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
  if (!started) return [found('leftovers', 'missing', `The command did not start: ${failure(events)}`)]
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
    if (endOf(events) !== 'completed') return failed('resume', events)
    if (remembers && !lost)
      return found('resume', 'supported', `Answered in ${seconds(Date.now() - since)}, and remembers.`)
    return found('resume', 'missing', 'The conversation began anew.')
  })()
  return [await closes(stage), resumed]
}

async function closes(stage: Stage): Promise<Finding> {
  const since = Date.now()
  await stage.harness.close()
  const ms = Date.now() - since
  const left = await stage.leftovers()
  const took = seconds(ms)
  if (left.length > 0)
    return found(
      'close',
      'missing',
      `${left.length} still ${left.length === 1 ? 'runs' : 'run'} after ${took}.`,
    )
  return ms < PATIENCE_MS
    ? found('close', 'supported', `Gone in ${took}.`)
    : found('close', 'differs', `Ended by Chirality after ${took}: it did not exit when it was closed.`)
}

/** Chirality ends an agent this long after it was stopped, was closed, or answered its only message. */
const PATIENCE_MS = 5_000

async function exitCode(stage: Stage): Promise<Finding[]> {
  if (stage.harness.id.startsWith(ACP_ID_PREFIX))
    return [found('exit', 'not-offered', 'The protocol has no process for a single turn.')]
  await stage.open({ keepAlive: false })
  stage.model.continueWith('Only this.')
  let answeredAt = Date.now()
  const events = await stage.begin(stage.session(), 'Hello.', {}, ({ type }) => {
    if (type === 'chat:complete') answeredAt = Date.now()
  })
  const ms = Date.now() - answeredAt
  const [exit] = of(events, 'process:exit')
  if (endOf(events) !== 'completed') return [failed('exit', events)]
  if (!exit) return [found('exit', 'not-offered', 'No turn has a process of its own.')]
  const how = exit.signal === null ? `Exits with ${exit.code}` : `Ended by ${exit.signal}`
  if (ms >= PATIENCE_MS) return [found('exit', 'differs', `${how}, ${seconds(ms)} after its answer.`)]
  return [found('exit', exit.code === 0 ? 'supported' : 'differs', `${how}.`)]
}

/** Options for an agent that never asks. */
const FREE: HarnessTurnOpts = { permissionMode: 'bypassPermissions' }

/** Time for an agent to end its children. */
const GRACE_MS = 20_000

async function grows(file: string): Promise<boolean> {
  const { size } = await stat(file)
  await pause(BEAT_MS)
  return (await stat(file)).size > size
}

const BEAT_MS = 1_000
