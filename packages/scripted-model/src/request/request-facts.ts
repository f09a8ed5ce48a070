import type { IncomingHttpHeaders } from 'node:http'
import { type SideKind, sideKindOf } from '../script/side-request.ts'

/** Facts about a request that routes match, equal for every API. */
export interface RequestFacts {
  api: 'messages' | 'responses' | 'chat' | 'gemini'
  model: string
  stream: boolean
  system: string
  firstUser: string
  /** The last user message that is not a tool result. */
  lastUser: string
  /** The tool results since the last answer. */
  toolResults: string
  tools: string[]
  messageCount: number
  subAgent: boolean
  side: SideKind | undefined
}

export function messagesFacts(body: unknown, headers: IncomingHttpHeaders): RequestFacts {
  const request = asObject(body)
  const messages = asArray(request.messages).map(asObject)
  const contents = (role: string) =>
    messages.filter(message => message.role === role).map(({ content }) => partsOf(content))
  const users = contents('user')
  const latest = users.at(-1) ?? []
  const system = [partsOf(request.system), ...contents('system')].map(textOf).join('\n')
  const tools = toolNames(request.tools)
  const firstUser = textOf(users[0] ?? [])
  return {
    api: 'messages',
    model: asString(request.model),
    stream: request.stream === true,
    system,
    firstUser,
    lastUser: textOf(users.findLast(parts => !parts.some(isToolResult)) ?? []),
    toolResults: latest.filter(isToolResult).map(outputOf).join('\n'),
    tools,
    messageCount: messages.length,
    subAgent: headers['x-claude-code-agent-id'] !== undefined || system.includes('cc_is_subagent=true'),
    side: sideKindOf({ tools, system, firstUser, lastText: textOf(latest) }),
  }
}

export function responsesFacts(body: unknown, headers: IncomingHttpHeaders): RequestFacts {
  const request = asObject(body)
  const items =
    typeof request.input === 'string'
      ? [{ type: 'message', role: 'user', content: request.input }]
      : asArray(request.input).map(asObject)
  const texts = (...roles: unknown[]) =>
    items.filter(({ role }) => roles.includes(role)).map(({ content }) => textOf(partsOf(content)))
  const users = texts('user').filter(text => !CODEX_CONTEXT.test(text))
  const lastAnswer = items.findLastIndex(
    ({ type, role }) => role === 'assistant' || String(type).endsWith('_call'),
  )
  return {
    api: 'responses',
    model: asString(request.model),
    stream: request.stream === true,
    system: [asString(request.instructions), ...texts('developer', 'system')].join('\n'),
    firstUser: users[0] ?? '',
    lastUser: users.at(-1) ?? '',
    toolResults: items
      .slice(lastAnswer + 1)
      .map(outputOf)
      .join('\n'),
    tools: toolNames(request.tools),
    messageCount: items.length,
    subAgent: headers['x-openai-subagent'] !== undefined,
    side: undefined,
  }
}

export function chatFacts(body: unknown): RequestFacts {
  const request = asObject(body)
  const messages = asArray(request.messages).map(asObject)
  const texts = (...roles: unknown[]) =>
    messages.filter(({ role }) => roles.includes(role)).map(({ content }) => textOf(partsOf(content)))
  const users = texts('user')
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
  return {
    api: 'chat',
    model: asString(request.model),
    stream: request.stream === true,
    system: texts('system', 'developer').join('\n'),
    firstUser: users[0] ?? '',
    lastUser: users.at(-1) ?? '',
    toolResults: since
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => textOf(partsOf(content)))
      .join('\n'),
    tools: asArray(request.tools).map(tool => asString(asObject(asObject(tool).function).name)),
    messageCount: messages.length,
    subAgent: false,
    side: undefined,
  }
}

export function geminiFacts(
  body: unknown,
  { model, stream }: Pick<RequestFacts, 'model' | 'stream'>,
): RequestFacts {
  const request = asObject(body)
  const contents = asArray(request.contents).map(asObject)
  const users = contents
    .filter(({ role }) => role !== 'model')
    .map(({ parts }) => textOf(asArray(parts).map(asObject)))
    .filter(text => text !== '')
  const latest = contents.slice(contents.findLastIndex(({ role }) => role === 'model') + 1)
  const results = latest
    .flatMap(({ parts }) => asArray(parts).map(asObject))
    .filter(({ functionResponse }) => functionResponse !== undefined)
  const tools = asArray(request.tools).flatMap(tool => asArray(asObject(tool).functionDeclarations))
  return {
    api: 'gemini',
    model,
    stream,
    system: textOf(asArray(asObject(request.systemInstruction).parts).map(asObject)),
    firstUser: users[0] ?? '',
    lastUser: users.at(-1) ?? '',
    toolResults: results.map(({ functionResponse }) => JSON.stringify(functionResponse)).join('\n'),
    tools: tools.map(tool => asString(asObject(tool).name)),
    messageCount: contents.length,
    subAgent: false,
    side: undefined,
  }
}

/** Codex sends context as user messages too; none of it was typed by a person. */
const CODEX_CONTEXT =
  /^(<(environment_context|user_instructions|turn_aborted|subagent_notification)>|# AGENTS\.md instructions)/

type Json = Record<string, unknown>

/** Content is a string or a list of typed parts; either becomes parts. */
function partsOf(content: unknown): Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : asArray(content).map(asObject)
}

function textOf(parts: Json[]): string {
  return parts
    .map(({ text }) => asString(text))
    .filter(text => text !== '')
    .join('\n')
}

/** Codex groups some tools under a namespace; both names count. */
function toolNames(tools: unknown): string[] {
  return asArray(tools)
    .map(asObject)
    .flatMap(tool => [asString(tool.name), ...toolNames(tool.tools)])
}

function isToolResult({ type }: Json): boolean {
  return type === 'tool_result'
}

function outputOf({ type, content, output }: Json): string {
  return textOf(partsOf(type === 'tool_result' ? content : output))
}

function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
