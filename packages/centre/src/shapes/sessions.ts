import type { CostLedger, NativeSession, TurnEndReason } from '@chirality/core'
import type {
  BudgetState,
  ForkHistory,
  NativePage,
  NativeText,
  PendingDecision,
  ProjectOwner,
  ProjectReport,
  QueuedMessage,
  SearchResult,
  SessionPage,
  SessionStatus,
  StoredSession,
  UsageReport,
} from '@chirality/sessions'
import { z } from 'zod'
import { sessionMachine } from './agents.ts'
import { permissionRequest, turnEndReason } from './events.ts'
import { loopSummary } from './loops.ts'
import { harnessId, mode, permissionMode, shelf, thinking, turnOptions } from './values.ts'

// The server's answers. Each schema is checked against the type of the package that makes the value, so neither can
// change alone.

const count = z.int().nonnegative()
/** ISO 8601. */
const time = z.string()

const lastTurn = turnEndReason.nullable() satisfies z.ZodType<TurnEndReason | null>

const ledger = z.strictObject({
  model: z.string(),
  statedUsd: z.number(),
  estimatedUsd: z.number(),
  unpricedTokens: z.number(),
  openUsd: z.number(),
  openUnpricedTokens: z.number(),
  highUsd: z.number(),
  settledTokens: z.number(),
  openTokens: z.number(),
  highTokens: z.number(),
}) satisfies z.ZodType<CostLedger>

const settings = z.strictObject({
  model: z.string().optional(),
  permissionMode: permissionMode.optional(),
  thinking: thinking.optional(),
  budgetUsd: z.number().optional(),
  budgetTokens: z.number().optional(),
  budgetMinutes: z.number().optional(),
  maxTurns: z.number().optional(),
})

export const forkHistory = z.enum(['whole', 'cut', 'account']) satisfies z.ZodType<ForkHistory>

/** The fields that a stored session and the status of a running one share. */
const sessionFacts = {
  projectRoot: z.string(),
  title: z.string().nullable(),
  harness: harnessId.nullable(),
  model: z.string().nullable(),
  persona: z.string().nullable(),
  mode,
  shelf: shelf.describe('CallPlace the user put it: on top of the lists, or out of them.'),
  lastTurn,
  leftUnanswered: z.boolean(),
  costUsd: z.number().nullable(),
  costIsEstimate: z.boolean(),
  tokens: z.number(),
  workedMs: z.number(),
  updatedAt: time,
  lastSeq: count,
  machine: sessionMachine.optional(),
}

/** The part that is shown of a session which is not open, also of one that another machine told of. */
const shownProgress = z.looseObject({ lastLine: z.string().nullable() })

/** How far the log was folded when the session was stored: the server continues from there. */
const progress = z
  .custom<StoredSession['progress']>(value => shownProgress.safeParse(value).success)
  .meta({
    type: 'object',
    description: 'How far the log was read when the session was stored. Its fields may change.',
  })

export const sessionRecord = z
  .strictObject({
    id: z.string(),
    createdAt: time,
    claudeSessionId: z.string().nullable().describe('The agent’s own id, whichever agent it is.'),
    ...sessionFacts,
    worktree: z.string().nullable().describe('The id of the worktree that the agent works in.'),
    status: z.enum(['idle', 'running', 'waiting']),
    turnCount: count,
    ledger,
    progress,
    forkedFrom: z
      .strictObject({
        sessionId: z.string(),
        seq: count,
        claudeSessionId: z.string().nullable(),
        point: z.string().optional(),
        history: forkHistory.optional(),
      })
      .nullable(),
    accountUpTo: count
      .optional()
      .describe(
        'The last event that the agent’s own conversation lacks, because it stayed on another machine. The agent got a written account of it.',
      ),
    settings,
  })
  .meta({ id: 'Session' }) satisfies z.ZodType<StoredSession>

export const sessionPage = z.strictObject({
  sessions: z.array(sessionRecord),
  nextCursor: z.string().optional(),
}) satisfies z.ZodType<SessionPage>

/** Stored as it was given, with the server's defaults: read from a file that the user may edit. */
const queuedRequest = z
  .custom<QueuedMessage['request']>(value => typeof value === 'object')
  .meta({
    type: 'object',
    description: 'The options of the turn.',
    properties: Object.fromEntries(Object.keys(turnOptions.shape).map(name => [name, {}])),
  })

const queuedMessage = z
  .strictObject({ id: z.string(), message: z.string(), queuedAt: time, request: queuedRequest })
  .meta({ id: 'QueuedMessage' }) satisfies z.ZodType<QueuedMessage>

const sessionWorktree = z.strictObject({
  id: z.string(),
  folder: z.string().nullable().describe('Null if the user’s records do not know the worktree.'),
  branch: z.string().nullable(),
  baseBranch: z.string().nullable(),
})

export const sessionStatus = z
  .strictObject({
    sessionId: z.string(),
    ...sessionFacts,
    worktree: sessionWorktree.optional().describe('Absent if the agent works in the project’s folder.'),
    phase: z.enum(['idle', 'starting', 'running', 'waiting', 'ending']),
    condition: z
      .enum(['new', 'running', 'waiting', 'unanswered', 'done', 'stopped', 'limit', 'failed', 'crashed'])
      .describe('How it stands, in one word.'),
    turnId: z.string().nullable(),
    turnStartedAt: time.nullable(),
    budgetUsd: z.number().nullable(),
    budgetTokens: z.number().nullable(),
    budgetMinutes: z.number().nullable(),
    lastLine: z.string().nullable(),
    pending: z.array(permissionRequest),
    policyProblem: z.string().nullable(),
    queue: z.array(queuedMessage),
    steered: z.array(queuedMessage),
    queueHeld: z.boolean(),
    logHealth: z.enum(['ok', 'paused']),
  })
  .meta({ id: 'SessionStatus' }) satisfies z.ZodType<SessionStatus>

export const fleetEvent = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('snapshot'), sessions: z.array(sessionStatus) }),
  z.strictObject({
    type: z.literal('changes'),
    sessions: z.array(sessionStatus),
    removed: z.array(z.string()),
  }),
  z.strictObject({ type: z.literal('loops'), loops: z.array(loopSummary) }),
  z.strictObject({ type: z.literal('schedules') }).describe('Something changed in the list of schedules.'),
])

export const pendingDecision = z
  .strictObject({
    sessionId: z.string(),
    askedAt: time,
    request: permissionRequest,
    policyProblem: z.string().optional(),
  })
  .meta({ id: 'PendingDecision' }) satisfies z.ZodType<PendingDecision>

export const startedTurn = z.strictObject({ turnId: z.string() })
export const sentTurn = z.union([startedTurn, z.strictObject({ queued: queuedMessage })])
export const steeredTurn = z.union([z.strictObject({ steered: z.literal(true) }), sentTurn])

export const queueState = z
  .strictObject({ messages: z.array(queuedMessage), held: z.boolean() })
  .meta({ id: 'Queue' })

export const leftovers = z
  .strictObject({
    agentKept: z.boolean().describe('The agent itself stays, for the next turn.'),
    left: count.describe('Processes of what it had started that still run, as far as they are found.'),
    sure: z.boolean().describe('Nothing else can run.'),
  })
  .nullable()

export const contextRoom = z
  .strictObject({ usedTokens: z.number().nullable(), maxTokens: z.number() })
  .nullable()

const owner = z.strictObject({
  pid: z.int(),
  address: z.string(),
  since: time,
}) satisfies z.ZodType<ProjectOwner>

export const projectInfo = z.strictObject({
  root: z.string(),
  name: z.string(),
  addedAt: time,
  open: z.boolean(),
  lockedBy: owner.nullable(),
  missing: z.boolean(),
})

export const projectReport = z.strictObject({
  projectRoot: z.string(),
  adopted: z.array(z.string()),
  closed: z.array(z.string()),
  stopped: count,
  problems: z.array(z.strictObject({ sessionId: z.string(), message: z.string() })),
}) satisfies z.ZodType<ProjectReport>

export const nativeSession = z.strictObject({
  harness: harnessId,
  nativeSessionId: z.string(),
  cwd: z.string(),
  title: z.string(),
  createdAt: time.optional(),
  updatedAt: time.optional(),
  sizeBytes: count.optional(),
}) satisfies z.ZodType<NativeSession>

export const nativeSessions = z.strictObject({
  sessions: z.array(nativeSession),
  faults: z
    .array(z.strictObject({ harness: harnessId, message: z.string() }))
    .describe('Agents that could not be asked.'),
})

export const nativePage = z.strictObject({
  lines: z.array(
    z.strictObject({
      id: z.string(),
      turnId: z.string(),
      harness: z.string(),
      spool: z.string(),
      offset: count,
      bytes: count,
      text: z.string(),
      cut: z.boolean(),
      torn: z.boolean(),
    }),
  ),
  before: z.string().nullable(),
  after: z.string().nullable(),
  more: z.boolean(),
  problems: z.array(z.strictObject({ turnId: z.string(), message: z.string() })),
}) satisfies z.ZodType<NativePage>

export const nativeText = z.strictObject({
  id: z.string(),
  bytes: count,
  from: count,
  text: z.string(),
  next: count.nullable(),
  torn: z.boolean(),
}) satisfies z.ZodType<NativeText>

export const exportPage = z.strictObject({
  text: z.string(),
  next: count.nullable().describe('The cursor for the next part; null when this was the last.'),
})

export const searchResult = z.strictObject({
  hits: z.array(
    z.strictObject({
      projectRoot: z.string(),
      sessionId: z.string(),
      title: z.string().nullable(),
      seq: count,
      at: time,
      turnId: z.string().nullable(),
      kind: z.enum(['user', 'assistant', 'thinking', 'tool', 'error']),
      snippet: z.string(),
      ranges: z.array(z.tuple([count, count])),
    }),
  ),
  unreadable: z.array(z.strictObject({ path: z.string(), error: z.string() })),
}) satisfies z.ZodType<SearchResult>

const usageAmount = {
  usd: z.number(),
  isEstimate: z.boolean(),
  tokens: z.number(),
  unpricedTokens: z.number(),
}
const usageOf = {
  projectRoot: z.string(),
  harness: harnessId.nullable(),
  model: z.string().nullable(),
  persona: z.string().nullable(),
  machine: z.string().optional().describe('The other machine that has it. Absent for this one.'),
}
const planWindow = z.strictObject({
  name: z.string(),
  minutes: z.number().optional(),
  usedPercent: z.number().optional(),
  resetsAt: time.optional(),
})

export const usageReport = z
  .strictObject({
    times: z.array(z.string()).describe('Every day, or hour, of the period, oldest first.'),
    rows: z.array(z.strictObject({ time: z.string(), ...usageOf, ...usageAmount })),
    sessions: z
      .array(
        z.strictObject({
          sessionId: z.string(),
          title: z.string().nullable(),
          ...usageOf,
          ...usageAmount,
        }),
      )
      .describe('The most expensive ones of the period.'),
    sessionCount: count,
    plans: z
      .array(z.strictObject({ harness: harnessId, at: time, windows: z.array(planWindow).readonly() }))
      .describe('The limits of the user’s plans, as each agent last reported them.'),
    deleted: z
      .strictObject({ sessions: count, usd: z.number(), tokens: z.number() })
      .describe('Deleted sessions of the period, which no other number includes.'),
  })
  .meta({ id: 'Usage' }) satisfies z.ZodType<UsageReport>

export const budgetState = z
  .strictObject({
    total_cost_usd: z.number(),
    max_cost_usd: z.number().nullable(),
    iterations: count,
    max_iterations: z.number().nullable(),
    total_tokens: z.number(),
    max_tokens: z.number().nullable(),
    unpriced_tokens: z.number(),
    total_minutes: z.number(),
    max_minutes: z.number().nullable(),
    counted_turns: z.array(z.string()).optional(),
    elsewhere: z
      .array(
        z.strictObject({
          machine: z.string(),
          usd: z.number().nullable(),
          tokens: z.number(),
          minutes: z.number(),
          turns: count,
          at: z.string().nullable().describe('When it was told. Null: at an unknown time.'),
        }),
      )
      .describe('What other machines of the fleet spent on the same project: the limits count it, too.'),
  })
  .meta({ id: 'Budget' }) satisfies z.ZodType<BudgetState>

export const shownTrust = z
  .strictObject({
    files: z.array(z.strictObject({ path: z.string(), bytes: count, text: z.string() })),
    fingerprint: z.string().describe('Of these files: to agree to them, hand it back.'),
    isTrusted: z.boolean(),
    problem: z.string().optional(),
  })
  .meta({ id: 'Trust' })

/** A browser that may use the server. */
export const signedInBrowser = z.strictObject({
  id: z.string(),
  /** Derived from its User-Agent, for example "Firefox on Linux". */
  name: z.string(),
  /** The address of the page that signed in. */
  origin: z.string(),
  addedAt: time,
  lastSignInAt: time,
  lastSeenAt: time,
  /** The network address that it last signed in from. Null if that is not known. */
  address: z.string().nullable(),
  /** False if it has neither a key nor a cookie: it is signed in until the server stops. */
  remembered: z.boolean(),
  /** Whether it has a page open now. */
  isConnected: z.boolean(),
})

export type SignedInBrowser = z.infer<typeof signedInBrowser>

export const severalDone = z.strictObject({
  done: z.array(z.string()).describe('The sessions that it was done with.'),
  failed: z
    .array(z.strictObject({ sessionIds: z.array(z.string()), code: z.string(), message: z.string() }))
    .describe('The others, by the reason.'),
})

export const processesShape = z.strictObject({
  sessionId: z.string(),
  turnId: z.string().nullable(),
  harness: z.string().nullable(),
  processes: z.array(
    z.strictObject({
      pid: z.int(),
      parentPid: z.int(),
      command: z.string(),
      startedAt: z.string().describe('Opaque; with the pid it names one process.'),
      role: z
        .enum(['agent', 'shared-agent', 'started'])
        .describe('`shared-agent`: it also works for other sessions. `started`: by the agent or its tools.'),
      ageMs: z.number().nullable(),
      cpuMs: z.number().nullable().describe('CPU time since its start.'),
      memoryBytes: z.number().nullable(),
    }),
  ),
})

/** The demo project that needs no account, and the settings of a session in it. */
export const demo = z.strictObject({
  projectRoot: z.string(),
  prompt: z.string(),
  session: z.strictObject({
    harness: z.string(),
    model: z.string(),
    title: z.string(),
    permissionMode: z.literal('default'),
  }),
})
