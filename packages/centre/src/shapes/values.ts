import { CAGE_LEVELS, HARNESS_ID, type HarnessTurnOpts, THINKING_LEVELS } from '@chirality/core'
import { z } from 'zod'

// The inputs of calls. Only the user's own tool servers and agents choose a program, its arguments or its environment; none
// chooses a folder outside a project.

export const sessionId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be the id of a session')
export const project = z.string().min(1, 'must be the path of a project').max(4096)
export const relativePath = z.string().max(4096)
export const lineNumber = z.int().positive().max(10_000_000)
export const sideOfChanges = z.strictObject({
  turnId: z.string().min(1).max(64).optional().describe('Default: what is not committed.'),
  since: z.literal('base').optional().describe('Of all that the branch has and its base has not.'),
  side: z.enum(['old', 'new']),
})
export const harnessId = z
  .string()
  .regex(HARNESS_ID, 'must be the id of a harness: lower-case letters, digits and dashes')
export const personaId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be the id of a persona')
/** Must not begin with a dash, because it becomes an argument. */
export const model = z.string().regex(/^[A-Za-z0-9][\w.:@/[\]-]{0,127}$/, 'must be the name of a model')
export const mode = z.enum(['workbench', 'pipeline', 'direct'])
export const permissionMode = z.enum([
  'default',
  'acceptEdits',
  'auto',
  'dontAsk',
  'plan',
  'bypassPermissions',
])
export const thinking = z.enum(THINKING_LEVELS)
export const title = z.string().max(300)
export const usd = z.number().positive().max(1_000_000)

export const maxTurns = z.int().positive().max(1_000_000)

/** As IANA names it: `Europe/Berlin`. */
export const timeZone = z.string().max(64).refine(isTimeZone, 'must be a time zone, such as Europe/Berlin')

function isTimeZone(name: string): boolean {
  try {
    return name !== '' && new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

export const shelf = z.enum(['pinned', 'archived']).nullable()

/** For calls about many rows of a list. */
export const severalSessions = z.strictObject({ sessionIds: z.array(sessionId).min(1).max(500) })

export const bySession = z.strictObject({ sessionId })
export const byProject = z.strictObject({ project })
/** The answer of a call that has none. */
export const nothing = z.void()
export const ofSession = z.strictObject({ sessionId: sessionId.optional() }).optional()

const toolNames = z.array(z.string().max(1000)).max(500)

const image = z.strictObject({
  type: z.literal('image'),
  source: z.strictObject({
    kind: z.literal('base64'),
    data: z.base64(),
    mediaType: z.string().regex(/^(?:image|application)\/[a-z0-9.+-]{1,60}$/, 'must be the type of an image'),
  }),
})
const text = z.strictObject({ type: z.literal('text'), text: z.string() })

export const turnOptions = z
  .strictObject({
    permissionMode: permissionMode.optional(),
    cage: z.enum(CAGE_LEVELS).optional(),
    tools: z.string().max(10_000).optional(),
    disallowedTools: toolNames.optional(),
    autoApproveTools: toolNames.optional(),
    toolsOverride: z.string().max(10_000).optional(),
    disallowedToolsOverride: toolNames.optional(),
    autoApproveToolsOverride: toolNames.optional(),
    maxTurns: maxTurns.optional(),
    systemPromptAppend: z.string().max(200_000).optional(),
    includePartialMessages: z.boolean().optional(),
    images: z
      .array(z.union([image, text]))
      .max(20)
      .optional(),
    model: model.optional(),
    fallbackModel: model.optional(),
    thinking: thinking.optional(),
    maxBudgetUsd: usd.optional(),
    maxBudgetTokens: z.int().positive().optional(),
    outputSchema: z.record(z.string(), z.unknown()).optional(),
    stallMs: z.int().positive().optional(),
    timeoutMs: z.int().positive().max(2_147_483_647).optional(),
    decisionTimeoutMs: z.int().positive().max(2_147_483_647).optional(),
    verbose: z.boolean().optional(),
    retryOfTurnId: z.string().max(64).optional(),
  })
  .meta({ id: 'TurnOptions' }) satisfies z.ZodType<Partial<HarnessTurnOpts>>

export const message = z.string().min(1, 'must not be empty').max(4_000_000)

export const turnInput = z
  .strictObject({ sessionId, message, options: turnOptions.optional() })
  .meta({ id: 'TurnInput' })

/** A branch, tag or commit. Must not begin with a dash, because it becomes an argument. */
export const gitBase = z
  .string()
  .regex(/^[^\s\p{Cc}-][^\p{Cc}]{0,249}$/u, 'must be the name of a branch, a tag or a commit')
export const worktreeId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be the id of a worktree')

export const machineName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/)
  .describe('A machine of the fleet. Folders that are named beside it are there.')

export const newWork = z.strictObject({
  harness: harnessId,
  project: z.string().min(1).max(4096),
  labels: z.array(z.string().min(1).max(100)).max(100).optional(),
  machine: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('The machine on which `project` is that folder. Default: this one, then any.'),
})

export const newSession = z.strictObject({
  project,
  persona: personaId.nullable().optional(),
  mode: mode.optional(),
  harness: harnessId.optional(),
  model: model.optional(),
  title: title.optional(),
  permissionMode: permissionMode.optional(),
  thinking: thinking.optional(),
  budgetUsd: usd.optional(),
  maxTurns: maxTurns.optional(),
  worktree: z
    .strictObject({ base: gitBase.optional() })
    .optional()
    .describe('The agent works in a worktree of its own, from `base` or what is checked out.'),
  budgetTokens: z.int().positive().optional(),
  budgetMinutes: z.number().positive().max(525_600).optional(),
})

const decidedBy = {
  message: z
    .string()
    .max(64 * 1024)
    .optional(),
}

export const decision = z.discriminatedUnion('behavior', [
  z.strictObject({
    behavior: z.literal('allow'),
    updatedInput: z.record(z.string(), z.unknown()).optional(),
    remember: z.enum(['session', 'always']).optional(),
  }),
  z.strictObject({ behavior: z.literal('deny'), interrupt: z.boolean().optional(), ...decidedBy }),
])

/** An answer to an agent's request. */
export const decisionAnswer = z.strictObject({ sessionId, requestId: z.string().min(1).max(200), decision })

/** The user agrees to a project's files by the fingerprint of the files that were shown. */
export const trustInput = z.strictObject({
  project,
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/, 'must be the fingerprint of the files that were shown'),
})

export const BROWSER_ID = /^[0-9a-f]{16}$/
export const browserId = z.string().regex(BROWSER_ID, 'must be the id of a browser')

/** The `seq` of the last event that a reader has. */
export const cursor = z.string().regex(/^\d{1,15}$/, 'must be the number of an event')

const ownPlace = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['user-global', 'user-project']) }),
  z.strictObject({ kind: z.literal('user-persona'), persona: personaId }),
])
const serverName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be letters, digits, "_" and "-"')
const shortText = z.string().max(4096)
/** Null keeps the value that is stored. */
const secrets = (name: RegExp) =>
  z.record(z.string().regex(name, 'is no name for a variable or a header'), shortText.nullable())

/** One of the user's own tool servers. */
export const ownToolServer = z.strictObject({ project, place: ownPlace, name: serverName })

export const toolServerConfig = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('stdio'),
    command: shortText.min(1),
    args: z.array(shortText).max(100),
    env: secrets(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/),
  }),
  z.strictObject({
    type: z.literal('http'),
    url: z
      .url({ protocol: /^https?$/, error: 'must be an http or https address' })
      .max(4096)
      .refine(url => new URL(url).username === '' && new URL(url).password === '', {
        error: 'must not hold a password: use a header',
      }),
    headers: secrets(/^[A-Za-z0-9-]{1,128}$/),
  }),
])

/** The servers of a program that uses the session. An empty list takes them back. */
export const lentToolServers = z.strictObject({
  sessionId,
  servers: z
    .record(serverName, toolServerConfig)
    .refine(servers => Object.keys(servers).length <= 20, { error: 'must be at most 20 servers' }),
})

/** A program that speaks the Agent Client Protocol. `env` holds names of variables, never values. */
export const ownAgent = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9](?:[a-z0-9-]{0,33}[a-z0-9])?$/, 'must be 1 to 35 lower-case letters, digits and dashes'),
  title: z.string().min(1).max(60).optional(),
  command: shortText.min(1),
  args: z.array(shortText).max(100),
  env: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'is no name of a variable')).max(100),
})

export const triedToolServer = z.strictObject({
  project,
  place: z.union([ownPlace, z.strictObject({ kind: z.literal('project') })]),
  name: serverName,
  fingerprint: z.string().max(200),
})
