import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import {
  HarnessError,
  type HarnessModel,
  type HarnessQuery,
  type SlashCommand,
  THINKING_LEVELS,
  type ThinkingLevel,
} from '@chirality/core'
import { anySignal } from '../../common/any-signal.ts'
import { asObject } from '../../common/json.ts'
import { buildChildEnv } from '../../env/child-env.ts'
import { type AgentProcess, outputOf, spawnAgent } from '../../process/agent-process.ts'
import { openSpool } from '../../process/spool/spool.ts'
import { makeTempFolder } from '../../process/spool/temp-folder.ts'
import { checkDirectory, startFailure } from '../../turn/start-failure.ts'
import type { AgentName } from '../../turn/turn-program.ts'
import {
  CLAUDE_THINKING,
  type ClaudeContext,
  PLAIN_VARIANT,
  settingSources,
  telemetryEnv,
} from '../config.ts'
import { CLAUDE_ENVIRONMENT } from '../descriptor.ts'
import { findClaude } from './executable.ts'
import { type ClaudeFeatures, claudeFeatures } from './features.ts'

/** What the agent says of itself before a conversation. */
export interface ClaudeOffer {
  commands: SlashCommand[]
  models: HarnessModel[]
}

/**
 * The slash commands and models that the agent offers in this folder. They come from an `initialize` control request,
 * which is answered before any model is called: a prompt, however small, would cost tokens.
 */
export async function discoverClaudeOffer(
  cwd: string,
  context: ClaudeContext,
  { signal, ...trust }: Pick<HarnessQuery, 'trustProject'> & { signal?: AbortSignal } = {},
): Promise<ClaudeOffer> {
  const { config, environment, variant = PLAIN_VARIANT } = context
  const { agent } = variant
  const { harnessId } = agent
  await checkDirectory('The project folder', cwd, harnessId)
  const command = await findClaude({ binaryPath: config.binaryPath, environment, agent })
  const source = { source: environment, allow: config.allowEnvironment }
  const { env } = buildChildEnv({ ...source, own: CLAUDE_ENVIRONMENT, extra: telemetryEnv(config) })
  const features = await claudeFeatures(command, env, { signal, dataFolder: config.dataFolder })
  // Listing the commands is no turn, so the output does not go to the project's logs.
  const folder = await makeTempFolder(environment, harnessId)
  try {
    const names = { harness: harnessId, sessionId: 'commands', turnId: randomUUID() }
    const spool = await openSpool({ projectRoot: folder, ...names })
    const process = await spawnAgent({
      command,
      args: [
        ...ARGS,
        ...(features.knowsFlag(NOT_KEPT) ? [NOT_KEPT] : []),
        '--setting-sources',
        settingSources(trust, config).join(','),
      ],
      cwd,
      env,
      spool,
      stdin: features.answers(SETTINGS.subtype)
        ? `${lineOf('offer', OFFER)}${lineOf('settings', SETTINGS)}`
        : lineOf('offer', OFFER),
      keepInputOpen: true,
    })
    return await ask(process, { agent, config, features, signal })
  } catch (error) {
    throw startFailure(error, agent)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Lists the commands without storing a conversation, if the release has a flag for that. */
const NOT_KEPT = '--no-session-persistence'

/** Listing needs no hooks and no MCP servers, neither the user's nor the project's. */
const ARGS = [
  '-p',
  '--input-format',
  'stream-json',
  '--output-format',
  'stream-json',
  '--verbose',
  '--strict-mcp-config',
  '--settings',
  '{"disableAllHooks":true}',
]
const OFFER = { subtype: 'initialize' }
export const SETTINGS = { subtype: 'get_settings' } as const
const TIMEOUT_MS = 30_000
/** A release that never answers the second request only lacks what that would have said. */
const SETTINGS_MS = 5000

function lineOf(id: string, request: object): string {
  return `${JSON.stringify({ type: 'control_request', request_id: id, request })}\n`
}

async function ask(
  process: AgentProcess,
  {
    agent,
    config,
    features,
    signal,
  }: Pick<ClaudeContext, 'config'> & { agent: AgentName; features: ClaudeFeatures; signal?: AbortSignal },
): Promise<ClaudeOffer> {
  const deadline = AbortSignal.timeout(TIMEOUT_MS)
  const either = signal ? anySignal([signal, deadline]) : deadline
  const stop = () => process.stop(config.stop)
  either.addEventListener('abort', stop, { once: true })
  const stderr: string[] = []
  let initialized: Record<string, unknown> | undefined
  let settings: Record<string, unknown> | undefined
  let patience: NodeJS.Timeout | undefined
  try {
    if (either.aborted) stop()
    for await (const output of outputOf(process)) {
      if (output.kind === 'stderr') stderr.push(output.line)
      if (output.kind !== 'record' || output.record.kind !== 'json') continue
      const answer = answerIn(output.record.value)
      if (answer?.id === 'offer') initialized = answer.said
      if (answer?.id === 'settings') settings = answer.said
      if (initialized && (settings || !features.answers(SETTINGS.subtype))) break
      if (initialized) patience ??= setTimeout(stop, SETTINGS_MS)
    }
  } finally {
    clearTimeout(patience)
    either.removeEventListener('abort', stop)
    await stop()
    await process.close()
  }
  const offer = initialized && claudeOffer(initialized, settings)
  if (offer) return offer
  if (signal?.aborted)
    throw new HarnessError('Listing the slash commands was stopped.', 'aborted', agent.harnessId)
  const said = stderr.join('\n').trim()
  const error = `Claude Code did not list its commands.${said ? ` It said: ${said}` : ''}`
  throw new HarnessError(error, deadline.aborted ? 'timeout' : 'process_crashed', agent.harnessId)
}

function answerIn(value: unknown): { id: unknown; said: Record<string, unknown> } | undefined {
  const { type, response } = asObject(value)
  const { request_id: id, response: said } = asObject(response)
  return type === 'control_response' ? { id, said: asObject(said) } : undefined
}

/** From the answers to `initialize` and, where the release has it, to `get_settings`; undefined without commands. */
export function claudeOffer(
  { commands, models }: Record<string, unknown>,
  settings: Record<string, unknown> = {},
): ClaudeOffer | undefined {
  const named = slashCommands(commands)
  const hasUltracode = asObject(settings.applied).ultracodeAvailable === true
  return named && { commands: named, models: offeredModels(models, hasUltracode) }
}

/** Which commands are skills: the agent does not say, but skills of the project and of the user have a file. */
export function withSkills(
  commands: SlashCommand[],
  cwd: string,
  { CLAUDE_CONFIG_DIR, HOME = '' }: Record<string, string>,
): SlashCommand[] {
  const folders = [path.join(cwd, '.claude'), CLAUDE_CONFIG_DIR || path.join(HOME, '.claude')]
  return commands.map(command => {
    // A plugin's command has a colon in its name, and its files are elsewhere.
    if (!/^[\w.-]+$/.test(command.name)) return command
    const isSkill = folders.some(folder => existsSync(path.join(folder, 'skills', command.name, 'SKILL.md')))
    return isSkill ? { ...command, type: 'skill' } : command
  })
}

/** The commands in an answer to `initialize`. */
function slashCommands(commands: unknown): SlashCommand[] | undefined {
  if (!Array.isArray(commands)) return undefined
  return commands.flatMap(command => {
    const { name, description, argumentHint } = asObject(command)
    if (typeof name !== 'string') return []
    const hint = Array.isArray(argumentHint) ? argumentHint.join(' ') : argumentHint
    return [
      {
        name,
        type: 'slash_command' as const,
        ...(typeof description === 'string' ? { description } : {}),
        ...(typeof hint === 'string' && hint !== '' ? { hint } : {}),
      },
    ]
  })
}

/** The models in an answer to `initialize`. Claude Code has ultracode with each model that has xhigh. */
function offeredModels(models: unknown, hasUltracode: boolean): HarnessModel[] {
  if (!Array.isArray(models)) return []
  return models.flatMap(model => {
    const { value, displayName, description, supportedEffortLevels, supportsAutoMode } = asObject(model)
    const efforts = Array.isArray(supportedEffortLevels) ? levelsOf(supportedEffortLevels) : []
    if (hasUltracode && efforts.includes('xhigh')) efforts.push('ultracode')
    if (typeof value !== 'string' || value === '') return []
    return [
      {
        id: value,
        label: typeof displayName === 'string' ? displayName : value,
        ...(typeof description === 'string' ? { description } : {}),
        ...(value === 'default' ? { isDefault: true } : {}),
        ...(efforts.length > 0 ? { efforts } : {}),
        ...(supportsAutoMode === true ? { supportsAutoMode } : {}),
      },
    ]
  })
}

/** A level that Chirality has no word for is left out: it could not be asked for. */
function levelsOf(named: readonly unknown[]): ThinkingLevel[] {
  return THINKING_LEVELS.filter(level => named.includes(CLAUDE_THINKING[level].effort))
}
