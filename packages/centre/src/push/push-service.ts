import { createHash } from 'node:crypto'
import { lookup as resolveName } from 'node:dns/promises'
import { type RequestOptions, request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { isIP } from 'node:net'
import path from 'node:path'
import { type PermissionRequestEvent, riskTitle, verdictsText } from '@chirality/core'
import type { SessionHost, SessionStatus } from '@chirality/sessions'
import { z } from 'zod'
import { callError } from '../errors.ts'
import type { LoopChange } from '../loops/loop-entries.ts'
import type { ProjectLoops } from '../loops/project-loops.ts'
import type { ProjectSchedules, ScheduleChange } from '../loops/project-schedules.ts'
import { type FleetService, remoteSession, remoteSessions, remoteStatus } from '../machines.ts'
import { BROWSER_ID } from '../shapes/values.ts'
import {
  changeUserFile,
  listUserFiles,
  readUserFile,
  removeUserFile,
  writeUserFile,
} from '../system/user-files.ts'
import { isGlobalAddress } from './global-address.ts'
import {
  areSubscriptionKeys,
  encryptPush,
  newVapidKeys,
  type VapidKeys,
  vapidHeader,
} from './push-message.ts'
import { SendSlots } from './send-slots.ts'
import { type ToldByWork, toldByWork, type Work } from './told-by-work.ts'

/** The details that a message may show: only that somebody is needed, the name of the session, or also what is asked. */
export const PUSH_DETAILS = ['nothing', 'name', 'text'] as const
export type PushDetail = (typeof PUSH_DETAILS)[number]

export interface PushSubscriptionInput {
  endpoint: string
  keys: { p256dh: string; auth: string }
  show: PushDetail
}

export interface PushOptions {
  home: string
  host: Pick<SessionHost, 'onStatus' | 'statuses'>
  loops: Pick<ProjectLoops, 'onChange' | 'summary'> & Work['loops']
  schedules: Pick<ProjectSchedules, 'onChange'> & Work['schedules']
  /** The browsers that stay signed in. */
  browsers: () => Promise<readonly { id: string }[]>
  /** The other machines: a hub tells of their sessions, too. */
  machines?: FleetService | undefined
  /** Only for tests: push services on this machine, over plain HTTP. */
  allowLocal?: boolean | undefined
  /** The pauses before a message is sent again. */
  retryMs?: readonly number[]
  onFault: (error: unknown) => void
}

/**
 * Sends a message to the devices that asked for it when a session needs an answer or ends, through the push service of
 * each browser: a closed page hears of it. A subscription belongs to a device and ends with it.
 */
export class PushService {
  readonly #options: PushOptions & { retryMs: readonly number[] }
  readonly #before = new Map<string, Heard>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #unlisten: (() => void)[]
  #keys: Promise<VapidKeys> | undefined
  readonly #slots = new SendSlots()
  #closed = false

  constructor(options: PushOptions) {
    this.#options = { retryMs: RETRY_MS, ...options }
    const { host, loops, schedules, machines, onFault } = options
    for (const status of host.statuses()) this.#before.set(status.sessionId, { status })
    for (const { status, work } of remoteSessions(machines))
      if (status !== null) this.#before.set(status.sessionId, { status, work })
    this.#unlisten = [
      host.onStatus(status => this.#hear({ status })),
      machines?.onChange(sessionId => {
        const remote = remoteSession(machines, sessionId)
        if (remote !== undefined)
          this.#hear({ ...remote, status: remote.status ?? remoteStatus(machines, remote) })
        else if (!host.statuses().some(own => own.sessionId === sessionId)) this.#before.delete(sessionId)
      }) ?? (() => {}),
      loops.onChange(change => {
        if (isTold(change)) void this.#tellOfLoop(change).catch(onFault)
      }),
      schedules.onChange(change => {
        const told = noticeOfRun(change)
        if (told !== undefined) void this.#tellAll(told).catch(onFault)
      }),
    ]
  }

  /** For `applicationServerKey` of the browser, and what this device has asked for. */
  async state(browser: string | undefined): Promise<{ publicKey: string; show: PushDetail | null }> {
    const { publicKey } = await this.#vapid()
    return { publicKey, show: browser ? ((await this.#read(browser))?.show ?? null) : null }
  }

  async subscribe(browser: string | undefined, subscription: PushSubscriptionInput): Promise<void> {
    if (browser === undefined || !(await this.#isRemembered(browser)))
      throw callError('invalid-input', 'Only a browser that stays signed in can be notified.')
    if (!areSubscriptionKeys(subscription.keys))
      throw callError('invalid-input', 'These are not the keys of a push subscription.')
    await this.#allowedAddress(new URL(subscription.endpoint))
    await writeUserFile(this.#options.home, nameOf(browser), `${JSON.stringify(subscription)}\n`)
  }

  async unsubscribe(browser: string | undefined): Promise<void> {
    if (browser !== undefined && BROWSER_ID.test(browser))
      await removeUserFile(this.#options.home, nameOf(browser))
  }

  close(): void {
    this.#closed = true
    for (const unlisten of this.#unlisten) unlisten()
    for (const timer of this.#timers) clearTimeout(timer)
  }

  #hear({ status, machine, work: there }: Heard): void {
    const before = this.#before.get(status.sessionId)
    const notice = noticeOf(status, before?.status)
    // A loop of this hub can have a session that is on another machine.
    const work = toldByWork(this.#options, status.sessionId) ?? there
    this.#before.set(status.sessionId, { status, work })
    if (notice === undefined) return
    // A machine may tell of the end when its loop is done with the task already.
    const isTold = notice.kind === 'ended' ? (work ?? before?.work) !== undefined : work === 'all'
    if (!isTold) void this.#tellAll({ ...notice, machine }).catch(this.#options.onFault)
  }

  async #tellOfLoop({ loopId, entry }: LoopChange): Promise<void> {
    const { list, counts } = await this.#options.loops.summary(loopId)
    const title = `Loop ${path.basename(list)}`
    if (entry?.type === 'task:parked' || entry?.type === 'tasks:parked') {
      const words = entry.type === 'task:parked' ? firstLine(entry.why) : parkedWords(entry.tasks)
      return this.#tellAll({ kind: 'loop', loopId, title, needsYou: true, words })
    }
    const words = `ended: ${verdictsText(counts)}`
    return this.#tellAll({ kind: 'loop', loopId, title, needsYou: false, words })
  }

  async #tellAll(notice: Notice): Promise<void> {
    const names = await listUserFiles(this.#options.home, FOLDER)
    await Promise.all(names.map(name => this.#tell(path.basename(name, '.json'), notice)))
  }

  async #tell(browser: string, notice: Notice, attempt = 0): Promise<void> {
    const subscription = await this.#read(browser)
    if (subscription === undefined || this.#closed) return
    if (!(await this.#isRemembered(browser))) return this.unsubscribe(browser)
    const end = await this.#slots.take('machine' in notice ? notice.machine : undefined)
    if (end === undefined) return
    const isWanted = !this.#closed && this.#isOpen(notice)
    const status = isWanted ? await this.#send(subscription, notice).catch(() => 0) : SENT
    end()
    if (status === 404 || status === 410) return this.unsubscribe(browser)
    const isRefused = status >= 400 && status < 500 && status !== 429
    const pause = this.#options.retryMs[attempt]
    if ((status >= 200 && status < 300) || isRefused || pause === undefined || this.#closed) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      void this.#tell(browser, notice, attempt + 1).catch(this.#options.onFault)
    }, pause)
    this.#timers.add(timer.unref())
  }

  /** A message that is sent late asks for no answer that was given in the meantime. */
  #isOpen(notice: Notice): boolean {
    if (notice.kind === 'loop' || notice.kind === 'schedule') return true
    const pending = this.#before.get(notice.sessionId)?.status.pending ?? []
    return notice.kind === 'ended' || pending.some(({ requestId }) => requestId === notice.asked.requestId)
  }

  async #send({ endpoint, keys, show }: PushSubscriptionInput, notice: Notice): Promise<number> {
    const url = new URL(endpoint)
    const address = await this.#allowedAddress(url)
    const body = encryptPush(JSON.stringify(shownOf(notice, show)), keys)
    const subject = subjectOf(notice)
    const topic = createHash('sha256').update(subject).digest('base64url').slice(0, 32)
    const headers = {
      authorization: vapidHeader(await this.#vapid(), url.origin),
      ttl: '3600',
      urgency: 'high',
      topic,
      'content-encoding': 'aes128gcm',
      'content-type': 'application/octet-stream',
      'content-length': String(body.length),
    }
    return post(url, { headers, address, body })
  }

  /**
   * The address that is called, checked: a subscription must not make the server call into its own network. The
   * connection uses exactly this one, so that a name cannot lead elsewhere a moment later.
   */
  async #allowedAddress(url: URL): Promise<string> {
    const isHttps = url.protocol === 'https:' && url.username === '' && url.password === ''
    if (!isHttps && !this.#options.allowLocal)
      throw callError('invalid-input', 'A push service is reached over HTTPS only.')
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const found = isIP(host) ? host : (await resolveName(host).catch(() => undefined))?.address
    if (this.#options.allowLocal && found !== undefined) return found
    if (found === undefined) throw callError('invalid-input', `The push service ${host} is not found.`)
    if (!isGlobalAddress(found))
      throw callError('invalid-input', 'A push service must not be an address of a private network.')
    return found
  }

  async #read(browser: string): Promise<PushSubscriptionInput | undefined> {
    if (!BROWSER_ID.test(browser)) return undefined
    try {
      return FILE.parse(JSON.parse((await readUserFile(this.#options.home, nameOf(browser))) ?? ''))
    } catch {
      return undefined
    }
  }

  /** A subscription ends with its device, also if that was signed out while no server ran. */
  async #isRemembered(browser: string): Promise<boolean> {
    return (await this.#options.browsers()).some(({ id }) => id === browser)
  }

  #vapid(): Promise<VapidKeys> {
    this.#keys ??= readKeys(this.#options.home)
    return this.#keys
  }
}

const FOLDER = 'push'
const KEY_FILE = 'push-keys.json'
const SENT = 201
const RETRY_MS = [2_000, 15_000, 120_000]
const ANSWER_MS = 10_000

const FILE = z.object({
  endpoint: z.string(),
  keys: z.object({ p256dh: z.string(), auth: z.string() }),
  show: z.enum(PUSH_DETAILS),
})
const KEYS = z.object({ publicKey: z.string(), privateKey: z.string() })

function nameOf(browser: string): string {
  return path.join(FOLDER, `${browser}.json`)
}

/** New ones if there are none: subscriptions made with others get no message then, and are made again by their page. */
async function readKeys(home: string): Promise<VapidKeys> {
  return (
    (await storedKeys(home)) ??
    // Two servers that start at the same moment would give their pages different keys, and one pair would be lost.
    (await changeUserFile(home, KEY_FILE, async () => (await storedKeys(home)) ?? makeKeys(home)))
  )
}

async function makeKeys(home: string): Promise<VapidKeys> {
  const keys = newVapidKeys()
  await writeUserFile(home, KEY_FILE, `${JSON.stringify(keys)}\n`)
  return keys
}

async function storedKeys(home: string): Promise<VapidKeys | undefined> {
  try {
    return KEYS.parse(JSON.parse((await readUserFile(home, KEY_FILE)) ?? ''))
  } catch {
    return undefined
  }
}

/** The status of the answer. No redirect is followed: it could lead into the private network. */
function post(
  url: URL,
  { headers, address, body }: { headers: Record<string, string>; address: string; body: Buffer },
): Promise<number> {
  const isTls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const options: RequestOptions & { servername?: string } = {
    method: 'POST',
    host: address,
    port: url.port || (isTls ? 443 : 80),
    path: url.pathname + url.search,
    headers: { ...headers, host: url.host },
    timeout: ANSWER_MS,
    agent: false,
    ...(isTls && !isIP(host) ? { servername: host } : {}),
  }
  return new Promise((resolve, reject) => {
    const sent = (isTls ? requestTls : requestPlain)(options, answer => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    sent.on('timeout', () => sent.destroy(new Error('No answer.')))
    sent.on('error', reject)
    sent.end(body)
  })
}

/** The status of a session, of another machine if one is named, and what the work that has it tells itself. */
interface Heard {
  status: SessionStatus
  machine?: string | undefined
  work?: ToldByWork | undefined
}

type SessionNotice = { sessionId: string; status: SessionStatus; machine?: string | undefined } & (
  | { kind: 'asks'; asked: PermissionRequestEvent }
  | { kind: 'ended' }
)
type LoopNotice = { kind: 'loop'; loopId: string; title: string; needsYou: boolean; words: string }
type RunNotice = { kind: 'schedule'; scheduleId: string; title: string; needsYou: boolean; words: string }
type Notice = SessionNotice | LoopNotice | RunNotice

/** The subject of a message: a later one with the same replaces it. */
function subjectOf(notice: Notice): string {
  if (notice.kind === 'loop') return notice.loopId
  return notice.kind === 'schedule' ? notice.scheduleId : notice.sessionId
}

/** A run that is done needs nobody, and a loop tells of itself. */
function noticeOfRun({
  schedule: { id, name },
  run: { receipt, sessionId },
}: ScheduleChange): RunNotice | undefined {
  if (receipt === null || receipt.outcome === 'done' || receipt.outcome === 'stopped') return undefined
  // A task can be parked before it has a session, because of its commands.
  const hasTasks = receipt.sessions.length > 0 || receipt.outcome === 'needs-you'
  const isTold = receipt.loopId !== null && hasTasks
  if (isTold && sessionId === undefined) return undefined
  const needsYou = receipt.outcome === 'needs-you'
  return { kind: 'schedule', scheduleId: id, title: name, needsYou, words: firstLine(receipt.words) }
}

/** A task needs somebody, or the loop is over. One that only ends with the server is not. */
function isTold({ entry }: LoopChange): boolean {
  if (entry?.type === 'task:parked' || entry?.type === 'tasks:parked') return true
  return entry?.type === 'loop:end' && entry.reason !== 'stopped'
}

/** Only these two: a session needs an answer, or it ended. */
function noticeOf(status: SessionStatus, before: SessionStatus | undefined): SessionNotice | undefined {
  const { sessionId } = status
  const known = new Set(before?.pending.map(({ requestId }) => requestId))
  const asked = status.pending.find(({ requestId }) => !known.has(requestId))
  if (asked !== undefined) return { kind: 'asks', sessionId, status, asked }
  const hasEnded = before !== undefined && before.phase !== 'idle' && status.phase === 'idle'
  return hasEnded && status.queue.length === 0 ? { kind: 'ended', sessionId, status } : undefined
}

/** The text that the worker shows, as far as the user allowed it. */
function shownOf(notice: Notice, show: PushDetail): Record<string, string> {
  if (notice.kind === 'loop' || notice.kind === 'schedule') return shownOfWork(notice, show)
  const { kind, sessionId, status } = notice
  const subject = { kind, sessionId, ...(kind === 'asks' ? { requestId: notice.asked.requestId } : {}) }
  const isDone = status.lastTurn === 'completed'
  if (show === 'nothing')
    return {
      ...subject,
      title: 'Chirality',
      body: kind === 'asks' ? 'A session needs you' : 'A session ended',
    }
  const title = cut(status.title?.trim() || 'New session', 80)
  if (kind === 'ended')
    return { ...subject, title, body: isDone ? 'is done' : `ended: ${status.lastTurn ?? 'stopped'}` }
  return { ...subject, title, body: show === 'name' ? 'needs an answer' : cut(textOf(notice.asked), 200) }
}

function shownOfWork(notice: LoopNotice | RunNotice, show: PushDetail): Record<string, string> {
  const { kind, title, needsYou, words } = notice
  const subject: Record<string, string> =
    kind === 'loop' ? { kind, loopId: notice.loopId } : { kind, scheduleId: notice.scheduleId }
  const short = SHORT_WORDS[kind][needsYou ? 'needsYou' : 'ended']
  if (show === 'nothing') return { ...subject, title: 'Chirality', body: short }
  return { ...subject, title: cut(title, 80), body: show === 'name' ? short : cut(words, 200) }
}

const SHORT_WORDS = {
  loop: { needsYou: 'A task needs you', ended: 'A loop ended' },
  schedule: { needsYou: 'A scheduled run needs you', ended: 'A scheduled run failed' },
}

function parkedWords([first, ...others]: readonly { task: { title: string } }[]): string {
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  return `${first?.task.title ?? 'A task'}${more}: commands that nobody allowed for this loop`
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

function textOf({ kind, toolName, input, risks = [] }: PermissionRequestEvent): string {
  if (risks.length > 0) return riskTitle(risks).replace(/^This can /, 'asks for what can ')
  if (kind === 'plan') return 'plan is ready to review'
  if (kind === 'question') return 'has a question'
  const command = typeof input.command === 'string' ? `: ${input.command}` : ''
  return `wants to use ${toolName}${command}`
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text
}
