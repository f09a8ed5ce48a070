import { setTimeout as sleep } from 'node:timers/promises'
import type { RemoteCall } from '@chirality/centre'
import { CodedError, isCodedError } from '@chirality/core'
import { z } from 'zod'
import type { Link } from '../engine/link.ts'
import { fleetError } from '../fleet-error.ts'
import type { ToldSpending } from '../spent-list.ts'
import { subjects } from '../subjects.ts'
import type { MachineRequest, MoveStep, WorkState, WorkStep } from './protocol.ts'
import { RememberedAnswers } from './remembered-answers.ts'

/**
 * Calls another machine once. `machine-away` means that nothing was done. `machine-silent` means that it is unknown:
 * the caller looks at the session before it tries again. A push or a hook may take long: while the machine reports that
 * it works, only the outcome is asked for.
 */
export async function callMachine(
  link: Link | undefined,
  machine: string,
  call: RemoteCall,
  { firstMs = CALL_MS, longestMs = LONGEST_MS }: Partial<Patience> = {},
): Promise<unknown> {
  return outcomeOnce(
    link,
    machine,
    { kind: 'call', id: crypto.randomUUID(), ...call },
    { firstMs, openMs: firstMs, longestMs },
  )
}

interface Patience {
  /** How long to wait for the answer before asking for the outcome. */
  firstMs: number
  /** How long a late answer is still accepted from a machine that cannot report outcomes. */
  openMs: number
  longestMs: number
}

/**
 * Sends a request once and asks for its outcome if the answer does not come: a broker that reloads its keys drops
 * answers.
 */
async function outcomeOnce(
  link: Link | undefined,
  machine: string,
  request: Extract<MachineRequest, { kind: 'call' | 'move' }>,
  { firstMs, openMs, longestMs }: Patience,
): Promise<unknown> {
  const { id, kind } = request
  const answer = ask(link, machine, request, Math.max(firstMs, openMs))
  const first = await before(firstMs, answer)
  if (first !== 'silent') return outcomeOf(machine, first)
  for (const end = performance.now() + longestMs; performance.now() < end; ) {
    const asked = performance.now()
    // The machine was there for the call: being away now does not mean that nothing was done.
    const later = (await ask(link, machine, { kind: 'outcome', id }, OUTCOME_MS)) ?? 'silent'
    if (kind === 'move' && later !== 'silent' && neverRemembers(later))
      return outcomeOf(machine, (await answer) ?? 'silent')
    if (later === 'silent' || !isWorking(later)) return outcomeOf(machine, later)
    // A machine reports this after 20 seconds. One that reports it at once must not be asked in a tight loop.
    await sleep(Math.max(0, asked + ASK_AGAIN_MS - performance.now()))
  }
  return answerOf(machine, 'silent')
}

async function before<T>(ms: number, answer: Promise<T>): Promise<T | 'silent'> {
  const over = new AbortController()
  const late = sleep(ms, 'silent' as const, { signal: over.signal }).catch(() => 'silent' as const)
  try {
    return await Promise.race([answer, late])
  } finally {
    over.abort()
    // The late answer may reject when the connection closes, and nothing awaits it any more.
    answer.catch(() => {})
  }
}

function isWorking(answer: Uint8Array): boolean {
  return isShaped(working, answer)
}

/** True for an earlier version, which knows outcomes of calls only and answers every step of a move as unknown. */
function neverRemembers(answer: Uint8Array): boolean {
  return isShaped(unknownOutcome, answer) && !isShaped(unknownStep, answer)
}

function isShaped(shape: z.ZodType, answer: Uint8Array): boolean {
  try {
    return shape.safeParse(JSON.parse(Buffer.from(answer).toString())).success
  } catch {
    return false
  }
}

/** Parses an answer. A malformed one does not mean that nothing was done. */
function outcomeOf(machine: string, answer: Uint8Array | 'silent' | undefined): unknown {
  try {
    return answerOf(machine, answer)
  } catch (error) {
    if (isCodedError(error)) throw error
    throw fleetError(
      'machine-silent',
      `The machine ${machine} answered nonsense. It may have done it: look at the session before you try again.`,
      error,
    )
  }
}

function answerOf(machine: string, answer: Uint8Array | 'silent' | undefined): unknown {
  if (answer === undefined)
    throw fleetError('machine-away', `The machine ${machine} cannot be reached now. Nothing was done.`)
  if (answer === 'silent')
    throw fleetError(
      'machine-silent',
      `The machine ${machine} did not answer. It may have done it: look at the session before you try again.`,
    )
  const said = callAnswer.parse(JSON.parse(Buffer.from(answer).toString()))
  if (said.ok) return said.data
  // Keeps the error code of the other machine.
  throw new CodedError(said.code, said.message)
}

const callAnswer = z.union([
  z.object({ ok: z.literal(true), data: z.unknown().optional() }),
  z.object({ ok: z.literal(false), code: z.string(), message: z.string() }),
])
type CallAnswer = z.infer<typeof callAnswer>

const working = z.object({ working: z.literal(true) })
const unknownOutcome = z.object({ ok: z.literal(false), code: z.literal('machine-silent') })
const unknownStep = z.object({ remembersSteps: z.literal(true) })

/** Asks a machine for a step of a move. */
export async function askMove(
  link: Link | undefined,
  machine: string,
  step: MoveStep,
  given: Partial<Patience> = {},
): Promise<unknown> {
  const patience = { ...MOVE_PATIENCE, ...given }
  const request = { kind: 'move', id: crypto.randomUUID(), ...step } as const
  if (isRepeatable(step)) return outcomeOf(machine, await askTwice(link, machine, request, patience.firstMs))
  const said = await outcomeOnce(link, machine, request, patience)
  // The move names the worktree on the other machine, so no other name is accepted.
  if (step.step === 'pack' && !packed(step.move).safeParse(said).success)
    throw fleetError('move-failed', `The machine ${machine} answered nonsense. Look there.`)
  return said
}

/**
 * True for steps that write the same bytes to the same place: a large session has hundreds of them, and remembering
 * each answer would be wasteful.
 */
function isRepeatable({ step }: MoveStep): boolean {
  return step === 'put'
}

/** Only for requests that may be done twice. */
async function askTwice(
  ...[link, machine, request, firstMs]: Parameters<typeof ask>
): ReturnType<typeof ask> {
  const first = await ask(link, machine, request, firstMs)
  return first === 'silent' ? ((await ask(link, machine, request, CALL_MS)) ?? 'silent') : first
}

/** A session that was packed before keeps the name of that move. */
function packed(move: string) {
  return z.object({ move: z.union([z.literal(move), z.string().regex(/^move-[0-9a-f]{12}$/)]) })
}

/** Asks a machine to do a piece of work, and for its state. */
export async function askWork(link: Link | undefined, machine: string, step: WorkStep): Promise<WorkState> {
  const answer = await ask(link, machine, { kind: 'work', ...step }, PING_MS)
  try {
    return workState.parse(answerOf(machine, answer)) as WorkState
  } catch (error) {
    if (isCodedError(error)) throw error
    throw fleetError('work-failed', `The machine ${machine} answered nonsense. Look there.`, error)
  }
}

/** Shape of an answer: a machine may send anything. */
const workState = z.union([
  z.object({ state: z.literal('ended') }),
  z.object({
    state: z.literal('working'),
    pending: z
      .looseObject({
        requestId: z.string(),
        kind: z.enum(['tool', 'question', 'plan', 'unknown']),
        input: z.looseObject({}),
      })
      .optional(),
  }),
])

/** Sends the spending of others to a machine, which may be away. */
export async function tellSpending(
  link: Link | undefined,
  machine: string,
  told: ToldSpending,
): Promise<void> {
  await ask(link, machine, { kind: 'spent', told }, PING_MS)
}

/** A piece of a parcel. Empty if the machine has none. */
export async function fetchParcel(
  link: Link | undefined,
  machine: string,
  { move, from }: { move: string; from: number },
): Promise<Uint8Array> {
  const answer = await askTwice(link, machine, { kind: 'parcel', move, from }, MOVE_PATIENCE.firstMs)
  return isBytes(answer) ? answer : new Uint8Array()
}

export async function pingMachine(link: Link, machine: string): Promise<boolean> {
  return isBytes(await ask(link, machine, { kind: 'ping' }, PING_MS))
}

/** True if no process answers for a machine at all. A silent one may be working behind a slow connection. */
export async function isAbsent(link: Link | undefined, machine: string): Promise<boolean> {
  return link?.connected === true && (await ask(link, machine, { kind: 'ping' }, GONE_MS)) === undefined
}

/** Bytes of a log of another machine. Undefined if it cannot be reached. */
export async function fetchBytes(
  link: Link | undefined,
  machine: string,
  { session, from }: { session: string; from: number },
): Promise<Buffer | undefined> {
  const answer = await ask(link, machine, { kind: 'bytes', session, from }, PING_MS)
  return isBytes(answer) ? Buffer.from(answer) : undefined
}

export interface Answers {
  call: (call: RemoteCall) => Promise<unknown>
  bytes: (session: string, from: number) => Buffer | Promise<Buffer>
  moves: {
    answer(step: MoveStep): Promise<unknown>
    bytes(move: string, from: number): Promise<Buffer>
    close(): Promise<void>
  }
  work: { answer(step: WorkStep): Promise<WorkState> }
  /** Takes in the spending of other machines from a hub. */
  spent: (told: unknown) => void
}

/** Answers the hubs. A call that is delivered twice is done once. */
export function answerCalls(link: Link, machine: string, answers: Answers): () => Promise<void> {
  const calls = new RememberedAnswers()
  // Kept apart from calls, so that moves of many sessions do not evict answers that a user waits for.
  const steps = new RememberedAnswers()
  const stop = link.serve(subjects.calls(machine), async body => {
    const request = JSON.parse(Buffer.from(body).toString()) as MachineRequest
    if (request.kind === 'ping') return Buffer.from('{}')
    if (request.kind === 'bytes') {
      const from = Number(request.from)
      if (!Number.isSafeInteger(from) || from < 0) throw new RangeError('A log has no such place.')
      return answers.bytes(String(request.session), from)
    }
    if (request.kind === 'parcel') {
      const from = Number(request.from)
      if (!Number.isSafeInteger(from) || from < 0) throw new RangeError('A parcel has no such place.')
      return answers.moves.bytes(String(request.move), from)
    }
    if (request.kind === 'move') {
      // An older hub sends no id.
      const { kind: _, id = crypto.randomUUID(), ...step } = request
      const make = () => answered(answers.moves.answer(step)).then(sendable)
      return isRepeatable(step) ? make() : steps.once(id, make)
    }
    if (request.kind === 'work') {
      const { kind: _, ...step } = request
      // Refusals of the work are sent as answers too.
      return Buffer.from(
        JSON.stringify(await answered(Promise.resolve().then(() => answers.work.answer(step)))),
      )
    }
    if (request.kind === 'spent') {
      answers.spent(request.told)
      return Buffer.from('{}')
    }
    if (request.kind === 'outcome') {
      const known = calls.get(request.id) ?? steps.get(request.id) ?? sendable(UNKNOWN)
      const still = sleep(WORKING_MS, sendable(WORKING), { ref: false })
      return Promise.race([known, still])
    }
    const { id, path, input } = request
    return calls.once(id, () => answered(answers.call({ path, input })).then(sendable))
  })
  return async () => {
    stop()
    await answers.moves.close()
  }
}

/**
 * Encodes an answer, or an error in place of one that is too large: the broker would drop it, and the caller would wait
 * in vain.
 */
function sendable(answer: CallAnswer | typeof WORKING): Buffer {
  const bytes = Buffer.from(JSON.stringify(answer))
  return bytes.length <= MAX_BYTES ? bytes : Buffer.from(JSON.stringify(TOO_LARGE))
}

function answered(work: Promise<unknown>): Promise<CallAnswer> {
  return work.then((data): CallAnswer => ({ ok: true, data }), refusal)
}

function refusal(error: unknown): CallAnswer {
  const message = error instanceof Error ? error.message : String(error)
  return { ok: false, code: isCodedError(error) ? error.code : 'internal', message }
}

async function ask(
  link: Link | undefined,
  machine: string,
  request: MachineRequest,
  timeout: number,
): Promise<Uint8Array | 'silent' | undefined> {
  if (!link?.connected) return undefined
  const body = Buffer.from(JSON.stringify(request))
  if (body.length > MAX_BYTES)
    throw new CodedError('unsupported', 'This is too large to be sent between machines. Nothing was done.')
  const answer = await link.request(subjects.calls(machine), body, timeout)
  if (answer.kind === 'answer') return answer.body
  return answer.kind === 'absent' ? undefined : 'silent'
}

function isBytes(answer: Uint8Array | 'silent' | undefined): answer is Uint8Array {
  return answer instanceof Uint8Array
}

/** Starting an agent can take this long. */
const CALL_MS = 60_000
const PING_MS = 10_000
const GONE_MS = 3_000
/** Packing and checking out a large repository may take minutes. The broker accepts an answer for two minutes. */
const MOVE_PATIENCE: Patience = { firstMs: 20_000, openMs: 110_000, longestMs: 10 * 60_000 }
/** Longer than the machine waits before it reports that it works. */
const OUTCOME_MS = 30_000
const WORKING_MS = 20_000
const ASK_AGAIN_MS = 1_000
const LONGEST_MS = 30 * 60_000
const WORKING = { working: true }
/** The server was restarted since, or its answer was forgotten. */
const UNKNOWN: CallAnswer & z.infer<typeof unknownStep> = {
  ok: false,
  code: 'machine-silent',
  remembersSteps: true,
  message:
    'The machine does not know this call: it was started again, or forgot its answer since. It may have done it: look at the session before you try again.',
}
/** Below the broker's `max_payload`. */
const MAX_BYTES = 7 * 1024 * 1024
const TOO_LARGE: CallAnswer = {
  ok: false,
  code: 'unsupported',
  message: 'The answer is too large to be sent between machines. Open the dashboard of that machine.',
}
