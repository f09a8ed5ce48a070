import { resolve } from 'node:path'
import {
  HarnessError,
  type HarnessErrorCode,
  type HarnessQuery,
  type McpServerConfig,
  type PermissionMode,
} from '@chirality/core'
import { readCarefully } from '@chirality/disk'
import { anySignal } from '../common/any-signal.ts'
import { RpcError } from '../process/json-rpc.ts'
import type { AcpAgent } from './acp-agent.ts'
import { type AcpOption, readSettings } from './agent-settings.ts'
import { listedPages } from './listed-pages.ts'

export interface OpenConversation {
  id: string
  /** The id of the requested conversation that no longer exists. */
  lostId?: string
}

/** Opens the conversation of the turn in the agent: the one that it holds, an earlier one, a copy, or a new one. */
export async function openConversation(
  agent: AcpAgent,
  query: HarnessQuery,
  servers: Record<string, McpServerConfig>,
  signal: AbortSignal,
): Promise<OpenConversation> {
  const { resumeSessionId, forkSession, cwd } = query
  if (resumeSessionId !== undefined && agent.conversation === resumeSessionId && !forkSession)
    return { id: resumeSessionId }
  const { hello } = agent
  const directories = query.additionalDirectories ?? []
  if (directories.length > 0 && !hello.takesDirectories)
    throw refused(agent, 'additionalDirectories: it works in one folder only.')
  const place = {
    cwd,
    mcpServers: Object.entries(servers).map(([name, server]) => toServer(agent, name, server)),
    ...(directories.length > 0 ? { additionalDirectories: directories } : {}),
  }
  const open = async (method: string, params: object) => {
    // A load repeats the whole conversation.
    agent.leave({ discard: method !== 'session/new' })
    const said = await agent.request(method, { ...place, ...params }, signal).finally(() => agent.leave())
    readSettings(agent.settings, said)
    agent.instructions = undefined
    return said
  }
  if (resumeSessionId !== undefined) {
    if (forkSession && !hello.canFork) throw refused(agent, 'forkSession: it cannot copy a conversation.')
    // An agent may announce a method that it does not have.
    const ways = forkSession
      ? ['session/fork']
      : [...(hello.canResume ? ['session/resume'] : []), ...(hello.canLoad ? ['session/load'] : [])]
    for (const method of ways)
      try {
        const { sessionId } = await open(method, { sessionId: resumeSessionId })
        // An agent may load a conversation that it does not have, as an empty one.
        const isEmpty = method === 'session/load' && agent.repeated === 0
        if (isEmpty && !(await isListed(agent, { id: resumeSessionId, cwd }, signal))) continue
        return hold(agent, forkSession ? sessionId : resumeSessionId)
      } catch (error) {
        if (!(error instanceof RpcError) || error.code === null) throw explained(agent, error)
      }
  }
  try {
    const { sessionId } = await open('session/new', {})
    const lost = resumeSessionId === undefined ? {} : { lostId: resumeSessionId }
    return { ...hold(agent, sessionId), ...lost }
  } catch (error) {
    throw explained(agent, error)
  }
}

/** Whether the agent names the conversation among its own. True where it cannot tell, or not in time. */
async function isListed(
  agent: AcpAgent,
  { id, cwd }: { id: string; cwd: string },
  signal: AbortSignal,
): Promise<boolean> {
  if (!agent.hello.canList) return true
  const patience = AbortSignal.timeout(LIST_MS)
  try {
    for await (const { sessions, isLast } of listedPages(agent, cwd, anySignal([signal, patience]))) {
      if (!sessions || sessions.some(({ sessionId }) => sessionId === id)) return true
      if (isLast) return false
    }
  } catch (error) {
    const isRefused = error instanceof RpcError && error.code !== null
    if (!isRefused && (signal.aborted || !patience.aborted)) throw error
  }
  return true
}

/** A turn waits for it. */
const LIST_MS = 20_000

/** The conversation that the agent held before is not needed any more. */
function hold(agent: AcpAgent, id: unknown): OpenConversation {
  if (typeof id !== 'string' || id === '')
    throw new HarnessError(
      `${agent.agent.name} opened a conversation without an id.`,
      'process_crashed',
      agent.agent.harnessId,
    )
  const before = agent.conversation
  agent.conversation = id
  if (before !== id) agent.costUsd = undefined
  if (before !== null && before !== id && agent.hello.canClose)
    void agent.request('session/close', { sessionId: before }).catch(() => {})
  return { id }
}

/** The mode, the model and the effort of the turn. What the agent does not offer is refused. */
export async function applySettings(
  agent: AcpAgent,
  query: HarnessQuery,
  modes: Partial<Record<PermissionMode, string>>,
  signal: AbortSignal,
): Promise<{ model: string }> {
  const sessionId = agent.conversation
  const { settings } = agent
  const set = async ({ id, category }: AcpOption, value: string) => {
    const said =
      id === null
        ? await agent.request('session/set_model', { sessionId, modelId: value }, signal)
        : await agent.request('session/set_config_option', { sessionId, configId: id, value }, signal)
    readSettings(settings, said)
    const option = settings.options.find(given => given.id === id && given.category === category)
    if (option) option.value = value
  }
  const option = (category: string) => settings.options.find(given => given.category === category)
  const wanted = modes[query.permissionMode ?? 'dontAsk'] ?? modes.default
  const mode = wanted !== undefined && settings.modes.includes(wanted) ? wanted : undefined
  if (query.permissionMode === 'plan' && mode === undefined)
    throw refused(agent, 'permissionMode plan: it offers no mode that only reads.')
  if (mode !== undefined && settings.mode !== mode) {
    const own = option('mode')
    if (own) await set(own, mode)
    else await agent.request('session/set_mode', { sessionId, modeId: mode }, signal)
    settings.mode = mode
  }
  if (query.model !== undefined) {
    const models = option('model')
    const known = models?.values.find(({ value, name }) => value === query.model || name === query.model)
    if (!models || !known)
      throw refused(
        agent,
        `model: it offers ${models?.values.map(({ value }) => value).join(', ') || 'no choice'}.`,
      )
    if (models.value !== known.value) await set(models, known.value)
  }
  if (query.thinking !== undefined) {
    const efforts = option('thought_level')
    const value = query.thinking === 'med' ? 'medium' : query.thinking
    if (!efforts?.values.some(given => given.value === value))
      throw refused(
        agent,
        `thinking: it offers ${efforts?.values.map(given => given.value).join(', ') || 'no choice'}.`,
      )
    if (efforts.value !== value) await set(efforts, value)
  }
  return { model: option('model')?.value || 'default' }
}

/** The message as content blocks. Refuses an empty one, and what the agent does not take. */
export async function contentOf(agent: AcpAgent, prompt: HarnessQuery['prompt']): Promise<unknown[]> {
  const parts = typeof prompt === 'string' ? [{ type: 'text' as const, text: prompt }] : prompt
  const content: unknown[] = []
  for (const part of parts) {
    if (part.type === 'text') {
      if (part.text.trim() !== '') content.push({ type: 'text', text: part.text })
      continue
    }
    if (part.type === 'document') throw refused(agent, 'It takes no documents. Name the file in the message.')
    if (!agent.hello.takesImages) throw refused(agent, 'It takes no images.')
    const { source } = part
    const data = source.kind === 'base64' ? source.data : await readImage(agent, source.path)
    content.push({ type: 'image', data, mimeType: source.mediaType })
  }
  if (content.length === 0)
    throw new HarnessError(
      'The prompt is empty. Say what the agent should do.',
      'invalid_query',
      agent.agent.harnessId,
    )
  return content
}

async function readImage(agent: AcpAgent, file: string): Promise<string> {
  const place = { root: '/', path: resolve(file) }
  const read = await readCarefully({ ...place, links: 'inside', maxBytes: MAX_IMAGE_BYTES })
  if (read !== undefined && 'bytes' in read) return read.bytes.toString('base64')
  const why = read?.fault.message ?? 'It is not there.'
  throw new HarnessError(
    `The image ${file} is not there or not a file: ${why}`,
    'invalid_query',
    agent.agent.harnessId,
  )
}

const MAX_IMAGE_BYTES = 32 * 1024 * 1024

function toServer(agent: AcpAgent, name: string, server: McpServerConfig): object {
  const pairs = (values: Record<string, string> = {}) =>
    Object.entries(values).map(([key, value]) => ({ name: key, value }))
  if (server.type === 'http') {
    if (!agent.hello.takesHttpServers)
      throw refused(agent, `mcpServers: it takes no HTTP servers such as ${name}.`)
    return { type: 'http', name, url: server.url, headers: pairs(server.headers) }
  }
  return { name, command: server.command, args: server.args ?? [], env: pairs(server.env) }
}

/** Why the agent opened no conversation, with its ways to log in where that is the reason. */
export function explained(agent: AcpAgent, error: unknown): unknown {
  if (!(error instanceof RpcError) || error.code === null) return error
  const { name, harnessId } = agent.agent
  const isLogin = error.code === -32_000 || /auth|log ?in/i.test(error.message)
  const ways = agent.hello.logins.length > 0 ? ` It offers: ${agent.hello.logins.join(', ')}.` : ''
  const advice = isLogin ? ` Log in with the program itself, in a terminal.${ways}` : ''
  const code: HarnessErrorCode = isLogin ? 'auth_failed' : 'process_crashed'
  return new HarnessError(
    `${name} opened no conversation: ${error.message}.${advice}`,
    code,
    harnessId,
    error,
  )
}

function refused({ agent: { name, harnessId } }: AcpAgent, reason: string): HarnessError {
  return new HarnessError(`${name} cannot do this. ${reason}`, 'unsupported', harnessId)
}
