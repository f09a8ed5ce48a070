import type { SessionHost } from '@chirality/sessions'
import { KeptNumbers } from '../system/kept-numbers.ts'

/** The work that the token of a program is for. */
export interface ProgramScope {
  projectRoot: string
  /** The session whose agent started the program. Null for a program of the user. */
  sessionId: string | null
}

/**
 * The sessions that programs started through MCP, and their limits: an agent that starts agents, which start agents,
 * must come to an end.
 */
export class Programs {
  /** How deep each session stands: 1, or 2 if the agent of such a session started it. */
  readonly #depths: KeptNumbers
  /** The starts of the last hour, by time. */
  #starts: number[] = []
  #starting = 0

  constructor(home: string) {
    this.#depths = new KeptNumbers(home, 'program-sessions.json')
  }

  /** Whether a program started this session. Only such a session takes messages from programs. */
  async has(sessionId: string): Promise<boolean> {
    return (await this.#depths.get(sessionId)) !== undefined
  }

  /** Runs `start`, which makes a session and returns its id, unless a limit is reached: then returns the reason. */
  async start(
    host: SessionHost,
    { sessionId }: ProgramScope,
    start: () => Promise<string>,
  ): Promise<{ sessionId: string } | { refused: string }> {
    const started = await this.#depths.all()
    // Nothing is awaited between here and `#starting`, so calls that arrive together are counted together.
    const depth = (sessionId === null ? 0 : (started[sessionId] ?? 0)) + 1
    const atWork = host.statuses().filter(one => one.phase !== 'idle' && started[one.sessionId] !== undefined)
    if (depth > MAX_DEPTH)
      return {
        refused: `This session was started by an agent that an agent started. At most ${MAX_DEPTH} sessions may stand one below the other. Do the work in this session.`,
      }
    if (atWork.length + this.#starting >= MAX_AT_WORK)
      return {
        refused: `${MAX_AT_WORK} sessions that programs started are at work already. Wait for one with await_session.`,
      }
    if (!this.#count()) return { refused: TOO_MANY }
    this.#starting += 1
    try {
      const made = await start()
      await this.#depths.set(made, depth)
      return { sessionId: made }
    } finally {
      this.#starting -= 1
    }
  }

  /** Counts the start of a loop like that of a session. Returns the reason if a limit is reached. */
  startLoop({ sessionId }: ProgramScope): { refused: string } | undefined {
    // Its list chooses tools that are allowed without asking, and an agent can write a list.
    if (sessionId !== null)
      return { refused: 'Only the user starts loops. Ask for it, or do the work with start_session.' }
    return this.#count() ? undefined : { refused: TOO_MANY }
  }

  /** False if there were too many starts within the last hour. */
  #count(): boolean {
    const now = Date.now()
    this.#starts = this.#starts.filter(at => at > now - HOUR_MS)
    if (this.#starts.length >= MAX_AN_HOUR) return false
    this.#starts.push(now)
    return true
  }
}

const MAX_DEPTH = 2
const MAX_AT_WORK = 8
const MAX_AN_HOUR = 60
const HOUR_MS = 60 * 60_000
const TOO_MANY = `Programs started ${MAX_AN_HOUR} sessions or loops within an hour. Wait, or ask the user.`
