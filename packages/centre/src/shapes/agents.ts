import { BEHAVIOURS, type BehaviourId, type ConformanceReport } from '@chirality/conformance'
import type {
  HarnessCapabilities,
  HarnessInstallStatus,
  HarnessMeta,
  HarnessModel,
  SlashCommand,
} from '@chirality/core'
import type {
  ComposedPrompt,
  PersonaChange,
  PersonaConfig,
  PersonaDraft,
  PersonaEntry,
  PersonaSource,
} from '@chirality/personas'
import type { AgentProbe, OwnAgent, ServerProbe } from '@chirality/runner'
import type { PolicySource } from '@chirality/sessions'
import { z } from 'zod'
import { permissionMode, thinking } from './values.ts'

// The server's answers about agents and personas.

const count = z.int().nonnegative()

/** Options of a harness from another package: its own descriptions, passed on unchanged. */
export const harnessInfo = z
  .custom<HarnessInfo>(value => typeof (value as HarnessInfo)?.id === 'string')
  .meta({
    type: 'object',
    required: ['id', 'name', 'models', 'capabilities', 'usesProjectFiles'],
    properties: {
      id: { type: 'string' },
      name: { type: 'string' },
      models: { type: 'array' },
      capabilities: { type: 'object', additionalProperties: { type: 'boolean' } },
      usesProjectFiles: { type: 'boolean' },
    },
  })

export interface HarnessInfo extends HarnessMeta {
  models: HarnessModel[]
  capabilities: HarnessCapabilities
  /** It runs code from a project's files, once the user trusts them. */
  usesProjectFiles: boolean
}

export const installStatus = z.strictObject({
  installed: z.boolean(),
  version: z.string().optional(),
  support: z.enum(['tested', 'untested', 'newer', 'too-old']).optional(),
  path: z.string().optional(),
  authType: z.enum(['api-key', 'account', 'none', 'unknown']),
  authenticated: z.boolean(),
  authInstructions: z.string().optional(),
}) satisfies z.ZodType<HarnessInstallStatus>

/** `unknown`: this server was cut off itself. */
const machineState = z.enum(['here', 'away', 'unknown'])

export const sessionMachine = z
  .strictObject({ name: z.string(), state: machineState })
  .describe('The machine of the fleet that has it. Absent for this one.')

export const machineRole = z.enum(['worker', 'hub'])

/** A machine of the fleet, as it last described itself. */
export const machine = z
  .strictObject({
    machine: z.string().describe('Its name.'),
    state: machineState,
    isThis: z.boolean(),
    role: machineRole,
    version: z.string(),
    labels: z.array(z.string()),
    slots: z.number(),
    busy: z.number().describe('Turns that run.'),
    load: z.number().describe('Of the last minute, for each core.'),
    agents: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        installed: z.boolean(),
        loggedIn: z.boolean(),
        version: z.string().nullable(),
      }),
    ),
    projects: z.array(z.string()),
    copies: z
      .boolean()
      .describe('False: hubs get no copies of its sessions, so none of them can be taken over.'),
    repositories: z
      .array(z.strictObject({ root: z.string(), key: z.string() }))
      .describe('Its projects, with the name that each has on every machine.'),
    heardSecondsAgo: z.number().nullable().describe('Null: not since this server listens.'),
    hasKey: z
      .boolean()
      .nullable()
      .describe('False: its rights were taken away. Null: only the machine with the broker knows.'),
    key: z
      .string()
      .nullable()
      .describe(
        'The fingerprint of its key, which `chirality fleet join` printed there. Null: not known here.',
      ),
  })
  .meta({ id: 'Machine' })

export const movedSession = z.strictObject({
  session: z.string(),
  from: z.string().describe('The machine that had it.'),
  to: z.string(),
})

export const takenOverSession = movedSession.extend({
  asked: z.boolean().describe('Whether the agent was asked to go on.'),
  problem: z.string().nullable().describe('Why it was not, though it was wanted.'),
  steps: z
    .array(z.strictObject({ step: z.string(), ms: count }))
    .describe('What was done in this order, and how long it took. Empty if an earlier call was finished.'),
})

export const keptSession = z.strictObject({
  session: z.string(),
  machine: z.string().describe('The machine that has it.'),
  gaveUp: z.string().nullable().describe('The machine that did not come back. Null: it was there after all.'),
})

export const invitation = z.strictObject({ code: z.string(), fingerprint: z.string() })

export const fleetInfo = z.strictObject({
  machine: z.string(),
  role: machineRole,
  url: z.string(),
  connected: z.boolean(),
  problem: z
    .string()
    .nullable()
    .describe('Why it is not connected. Null: it is, or the reason is not known.'),
  readOnly: z
    .string()
    .nullable()
    .describe('Why nothing can be stored although it is connected, such as two of three brokers gone.'),
  hasBroker: z.boolean().describe('Whether machines are invited and revoked here.'),
  fingerprint: z.string().describe('Of the certificate of the broker.'),
  copies: z
    .strictObject({
      sends: z.boolean(),
      isFixed: z.boolean().describe('This server was started with `--no-copies`.'),
    })
    .describe('Whether hubs get copies of this machine’s sessions after each turn.'),
})

export const forgottenMachine = z.strictObject({
  machine: z.string(),
  sessions: z.int().describe('How many sessions of it this hub knew.'),
})

/** CallPlace a new session would run. */
export const placement = z.strictObject({
  machine: z.string().nullable().describe('Null: it waits.'),
  why: z.string(),
  offers: z.array(
    z.strictObject({
      machine: z.string(),
      isThis: z.boolean(),
      project: z.string().nullable().describe('The folder of the project there.'),
      problem: z.string().nullable().describe('Why the machine does not fit.'),
    }),
  ),
})

export const harnessModel = z.strictObject({
  id: z.string(),
  label: z.string(),
  isDefault: z.boolean().optional(),
  description: z
    .string()
    .optional()
    .describe('What the agent says of it, with its price where it names one.'),
  efforts: z.array(thinking).optional().describe('The efforts that the agent names for it.'),
  supportsAutoMode: z.boolean().optional().describe('The agent offers the permission mode auto with it.'),
}) satisfies z.ZodType<HarnessModel>

export const slashCommand = z.strictObject({
  name: z.string(),
  type: z.enum(['skill', 'slash_command']),
  description: z.string().optional(),
  hint: z.string().optional().describe('What to write after the name.'),
}) satisfies z.ZodType<SlashCommand>

const policyRule = z.strictObject({
  effect: z.enum(['allow', 'ask', 'deny']),
  tool: z.string(),
  pattern: z.string().optional(),
  line: z.int(),
  text: z.string(),
})

export const policySource = z.strictObject({
  kind: z.enum(['user-persona', 'user-project', 'user-global', 'persona', 'project']),
  file: z.string(),
  exists: z.boolean(),
  trusted: z.boolean(),
  rules: z.array(policyRule),
  problems: z.array(z.strictObject({ line: z.int(), message: z.string() })),
}) satisfies z.ZodType<PolicySource>

const tools = z.array(z.string()).optional()

export const personaConfig = z
  .strictObject({
    id: z.string(),
    sourceFile: z.string(),
    description: z.string().optional(),
    allowedTools: tools,
    disallowedTools: tools,
    autoApproveTools: tools,
    harness: z.string().optional(),
    nextHarnesses: tools,
    model: z.string().optional(),
    permissionMode: permissionMode.exclude(['auto', 'bypassPermissions']).optional(),
    maxTurns: z.number().optional(),
    budgetUsd: z.number().optional(),
    budgetTokens: z.number().optional(),
    budgetMinutes: z.number().optional(),
    policy: z.array(policyRule).optional(),
  })
  .meta({ id: 'Persona' }) satisfies z.ZodType<PersonaConfig>

const personaProblem = z.strictObject({ message: z.string(), line: z.int().optional() })

export const personaEntry = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('persona'),
    persona: personaConfig,
    warnings: z.array(personaProblem),
  }),
  z.strictObject({
    kind: z.literal('broken'),
    id: z.string(),
    sourceFile: z.string(),
    error: z.string(),
    line: z.int().optional(),
    problems: z.array(personaProblem),
  }),
]) satisfies z.ZodType<PersonaEntry>

export const personaConsent = z.strictObject({
  grants: z.array(z.string()),
  isAllowed: z.boolean(),
  fingerprint: z.string(),
})

export const composedPrompt = z.strictObject({
  text: z.string(),
  estimatedTokens: z.number(),
  truncated: z.array(z.strictObject({ part: z.string(), keptChars: count, droppedChars: count })),
  warnings: z.array(z.string()),
}) satisfies z.ZodType<ComposedPrompt>

export const personaSource = z.strictObject({
  text: z.string(),
  revision: z.string(),
}) satisfies z.ZodType<PersonaSource>

export const personaDraft = z.strictObject({
  persona: personaConfig.nullable(),
  problems: z.array(personaProblem),
  warnings: z.array(personaProblem),
  prompt: composedPrompt,
  /** What the agent that it would run with cannot be held to. */
  unmet: z.array(z.string()),
}) satisfies z.ZodType<PersonaDraft & { unmet: string[] }>

/** `conflict`: the file is not the one that was read; nothing was changed. */
export const personaChange = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('done'), revision: z.string().nullable() }),
  z.strictObject({ kind: z.literal('conflict'), current: personaSource.nullable() }),
]) satisfies z.ZodType<PersonaChange>

const secretNames = z.array(z.string())

/** Values of variables and headers are never given out: only their names. */
const toolServer = z.strictObject({
  name: z.string(),
  fingerprint: z.string(),
  config: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('stdio'),
      command: z.string(),
      args: z.array(z.string()),
      env: secretNames,
      cwd: z.string().optional(),
    }),
    z.strictObject({ type: z.literal('http'), url: z.string(), headers: secretNames }),
  ]),
  /** Exactly this was started or connected to before. */
  wasTried: z.boolean(),
  /** Why it cannot be tried. */
  untried: z.string().nullable(),
})

export const toolServerSource = z.strictObject({
  place: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.enum(['user-global', 'user-project']) }),
    z.strictObject({ kind: z.literal('project') }),
    z.strictObject({ kind: z.literal('user-persona'), persona: z.string() }),
  ]),
  file: z.string(),
  servers: z.array(toolServer),
  problems: z.array(z.string()),
})

export const serverProbe = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('connected'),
    ms: z.number(),
    tools: z.array(z.string()),
    hasMore: z.boolean(),
  }),
  z.strictObject({ kind: z.literal('failed'), error: z.string(), lastWords: z.string() }),
]) satisfies z.ZodType<ServerProbe>

const ownAgent = z.strictObject({
  id: z.string(),
  name: z.string(),
  title: z.string().optional(),
  command: z.string(),
  args: z.array(z.string()),
  env: z.array(z.string()),
  fingerprint: z.string(),
}) satisfies z.ZodType<OwnAgent>

export const ownAgents = z.strictObject({
  file: z.string(),
  agents: z.array(ownAgent),
  problems: z.array(z.string()),
  refusal: z.string().nullable().describe('Why the caller may not change them.'),
})

export const agentProbe = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('answered'),
    ms: z.number(),
    version: z.string().nullable(),
    can: z.array(z.string()),
    logins: z.array(z.string()),
  }),
  z.strictObject({ kind: z.literal('failed'), error: z.string() }),
]) satisfies z.ZodType<AgentProbe>

export const trialReport = z.strictObject({
  harness: z.string(),
  name: z.string(),
  version: z.string().optional(),
  at: z.string(),
  durationMs: z.number(),
  refused: z.string().optional(),
  findings: z.array(
    z.strictObject({
      behaviour: z.enum(Object.keys(BEHAVIOURS) as BehaviourId[]),
      outcome: z.enum(['supported', 'differs', 'missing', 'not-offered']),
      evidence: z.string(),
      durationMs: z
        .number()
        .optional()
        .describe('Of the conversation that showed it, at the first of the behaviours that it showed.'),
    }),
  ),
}) satisfies z.ZodType<ConformanceReport>

export const trials = z.strictObject({
  /** The agent that is being tried. */
  running: z.string().nullable(),
  reports: z.array(trialReport),
  /** What is looked at, as sentences. */
  behaviours: z.record(z.string(), z.string()),
})
