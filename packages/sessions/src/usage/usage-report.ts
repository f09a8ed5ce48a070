import { type HarnessId, type PlanWindow, roundUsd, SLOT_MS, type Spend } from '@chirality/core'
import type { SessionHost } from '../host/session-host.ts'
import { deletedFile } from '../store/project-state.ts'
import { formatSession, parseSession, type StoredSession } from '../store/stored-session.ts'

export interface UsageOptions {
  projectRoots: readonly string[]
  /** The user's, as IANA names it: days begin at its midnight. */
  timeZone: string
  /** The last days, with the current one. For one day the report is by hours. */
  days: number
  now?: Date
  /** Sessions of other machines, as those told them. */
  others?: readonly { machine: string; session: StoredSession }[]
}

/** Cost and tokens over time. The rows together are exactly what the sessions of these projects cost in this time. */
export interface UsageReport {
  /** Every day, `2026-11-17`, or hour, `2026-11-17T09`, of the period, also without rows. Oldest first. */
  times: string[]
  rows: UsageRow[]
  /** The most expensive sessions of the period. */
  sessions: UsageOfSession[]
  sessionCount: number
  /** For each agent, the limits of the user's plan as last reported. */
  plans: PlanReport[]
  /** Deleted sessions whose last event is in the period: nothing above includes them. */
  deleted: { sessions: number; usd: number; tokens: number }
}

export interface UsageAmount {
  usd: number
  /** A part of it is by list price, or has no price. */
  isEstimate: boolean
  tokens: number
  /** Of these, the tokens without a price. */
  unpricedTokens: number
}

export interface UsageRow extends UsageAmount {
  /** One of `times`. */
  time: string
  /** The other machine that has the sessions. Absent for this one. */
  machine?: string
  projectRoot: string
  harness: HarnessId | null
  model: string | null
  persona: string | null
}

export interface UsageOfSession extends UsageAmount {
  sessionId: string
  title: string | null
  machine?: string
  projectRoot: string
  harness: HarnessId | null
  model: string | null
  persona: string | null
}

export interface PlanReport {
  harness: HarnessId
  /** When the agent reported them. */
  at: string
  windows: readonly PlanWindow[]
}

export type Sessions = Pick<SessionHost, 'store' | 'openSession'>

/**
 * Reads no log: the times of spends are part of what is stored of a session, and of what is in memory of an open one.
 */
export async function usageReport(host: Sessions, options: UsageOptions): Promise<UsageReport> {
  const { projectRoots, timeZone, days, now = new Date() } = options
  const calendar = new Calendar(timeZone, days, now)
  const own = await currentSessions(host, projectRoots)
  const sessions = [...own.map(session => ({ session, of: {} })), ...soundOthers(options.others ?? [])]
  const rows = new Map<string, UsageRow & Sums>()
  const perSession: (UsageOfSession & Sums)[] = []
  for (const { session, of } of sessions) {
    const { id: sessionId, title, projectRoot, harness, model: chosen, persona } = session
    const total = { sessionId, title, projectRoot, harness, model: chosen, persona, ...of, ...newSums() }
    for (const spend of allSpends(session)) {
      const time = calendar.timeOf(spend.slot)
      if (time === undefined) continue
      const model = spend.model || session.model
      const key = JSON.stringify([time, projectRoot, harness, model, persona, of])
      const row = rows.get(key) ?? { time, projectRoot, harness, model, persona, ...of, ...newSums() }
      rows.set(key, row)
      add(row, spend)
      add(total, spend)
    }
    if (total.usd > 0 || total.tokens > 0) perSession.push(total)
  }
  perSession.sort((a, b) => b.usd - a.usd || b.tokens - a.tokens)
  return {
    times: calendar.times,
    rows: [...rows.values()].map(withoutSums),
    sessions: perSession.slice(0, MAX_SESSIONS).map(withoutSums),
    sessionCount: perSession.length,
    // Another machine may be logged in to another account.
    plans: plansIn(own),
    deleted: await deletedIn(projectRoots, calendar),
  }
}

const MAX_SESSIONS = 20

/** Open sessions as they are in memory, where a running turn counts up to its last event; the others as stored. */
async function currentSessions(host: Sessions, projectRoots: readonly string[]): Promise<StoredSession[]> {
  const { sessions } = await host.store.page({ projectRoots, limit: Number.POSITIVE_INFINITY })
  const found: StoredSession[] = []
  for (const session of sessions) {
    // One that cannot be read, or was deleted meanwhile, must not hide the others.
    const live = host.openSession(session.id)?.stored
    found.push(live ?? (await host.store.withSpends(session).catch(() => session)))
  }
  return found
}

/** What a machine tells is read as a file of a clone is: a number that is none would spoil every sum. */
function soundOthers(others: NonNullable<UsageOptions['others']>) {
  return others.flatMap(({ machine, session }) => {
    const { id, projectRoot } = session
    const sound = parseSession(formatSession(session), { id, projectRoot })
    if (sound === undefined) return []
    const { progress } = sound
    // What is left out counts at the last event.
    const spends = progress.spends?.slice(-MAX_SPENDS) ?? null
    return [{ session: { ...sound, progress: { ...progress, spends } }, of: { machine } }]
  })
}

/** Of one session of another machine. */
const MAX_SPENDS = 20_000

/** What has no time, because a file was rebuilt from less than it once had, counts at the last event. */
function allSpends({ progress, costUsd, tokens, ledger, updatedAt }: StoredSession): readonly Spend[] {
  const spends = progress.spends ?? []
  const sum = { usd: 0, tokens: 0 }
  for (const spend of spends) {
    sum.usd += spend.usd
    sum.tokens += spend.tokens
  }
  const usd = roundUsd((costUsd ?? 0) - sum.usd)
  const rest = { usd: Math.max(0, usd), tokens: Math.max(0, tokens - sum.tokens) }
  if (rest.usd === 0 && rest.tokens === 0) return spends
  const slot = Math.floor(Date.parse(updatedAt) / SLOT_MS)
  return [...spends, { slot, model: ledger.model, ...rest, statedUsd: 0, unpricedTokens: 0 }]
}

/** The newest report of each agent. A window that was reset since then says nothing about the present. */
function plansIn(sessions: readonly StoredSession[]): PlanReport[] {
  const newest = new Map<HarnessId, PlanReport>()
  for (const { harness, progress } of sessions) {
    if (harness === null || progress.limits === null) continue
    const { at, windows } = progress.limits
    const known = newest.get(harness)
    if (known === undefined || known.at < at) newest.set(harness, { harness, at, windows })
  }
  return [...newest.values()].sort((a, b) => (a.harness < b.harness ? -1 : 1))
}

async function deletedIn(
  projectRoots: readonly string[],
  calendar: Calendar,
): Promise<UsageReport['deleted']> {
  const sum = { sessions: 0, usd: 0, tokens: 0 }
  for (const root of projectRoots) {
    const { sessions } = await deletedFile.read(root).catch(() => ({ sessions: [] }))
    for (const { updatedAt, usd, tokens } of sessions) {
      if (calendar.timeOf(Math.floor(Date.parse(updatedAt) / SLOT_MS)) === undefined) continue
      sum.sessions += 1
      sum.usd = roundUsd(sum.usd + usd)
      sum.tokens += tokens
    }
  }
  return sum
}

interface Sums extends UsageAmount {
  statedUsd: number
}

function newSums(): Sums {
  return { usd: 0, isEstimate: false, tokens: 0, unpricedTokens: 0, statedUsd: 0 }
}

function add(sums: Sums, { usd, statedUsd, tokens, unpricedTokens }: Spend): void {
  sums.usd = roundUsd(sums.usd + usd)
  sums.statedUsd = roundUsd(sums.statedUsd + statedUsd)
  sums.tokens += tokens
  sums.unpricedTokens += unpricedTokens
}

function withoutSums<T extends Sums & { machine?: string }>({ statedUsd, ...rest }: T): Omit<T, 'statedUsd'> {
  const unpricedTokens = Math.max(0, rest.unpricedTokens)
  const isEstimate = unpricedTokens > 0 || rest.usd !== statedUsd
  // No machine makes the sum of all smaller by what it tells.
  const least = rest.machine === undefined ? Number.NEGATIVE_INFINITY : 0
  const [usd, tokens] = [Math.max(least, rest.usd), Math.max(least, rest.tokens)]
  return { ...rest, usd, tokens, unpricedTokens, isEstimate }
}

/** The days, or the hours of one day, of a period in a time zone. */
class Calendar {
  readonly times: string[]
  readonly #known: ReadonlySet<string>
  readonly #format: Intl.DateTimeFormat
  readonly #byHour: boolean
  readonly #labels = new Map<number, string>()

  constructor(timeZone: string, days: number, now: Date) {
    this.#format = new Intl.DateTimeFormat('en-CA', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      hourCycle: 'h23',
    })
    this.#byHour = days === 1
    const { day: today } = this.#parts(now)
    this.times = this.#byHour
      ? Array.from({ length: 24 }, (_, hour) => `${today}T${String(hour).padStart(2, '0')}`)
      : Array.from({ length: days }, (_, i) => dayBefore(today, days - 1 - i))
    this.#known = new Set(this.times)
  }

  /** Undefined if it is not in the period. */
  timeOf(slot: number): string | undefined {
    const date = new Date(slot * SLOT_MS)
    if (Number.isNaN(date.getTime())) return undefined
    let label = this.#labels.get(slot)
    if (label === undefined) {
      const { day, hour } = this.#parts(date)
      label = this.#byHour ? `${day}T${hour}` : day
      this.#labels.set(slot, label)
    }
    return this.#known.has(label) ? label : undefined
  }

  #parts(date: Date): { day: string; hour: string } {
    const parts = Object.fromEntries(this.#format.formatToParts(date).map(({ type, value }) => [type, value]))
    return { day: `${parts.year}-${parts.month}-${parts.day}`, hour: parts.hour ?? '00' }
  }
}

function dayBefore(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) - count * DAY_MS).toISOString().slice(0, 10)
}

const DAY_MS = 24 * 60 * 60 * 1000
